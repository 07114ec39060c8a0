import type { SummaryCalls } from "./fall.ts";
import { catalogOf } from "./models.ts";
import { PRICE_TABLE } from "./price-table.ts";
import type { NormalisedUsage } from "./usage.ts";

/**
 * Prices of prompts of more than `from` tokens, in US dollars a million tokens: of the input that no cache had, of what was read from
 * and written to a cache, of the output, and of what was written to a cache for an hour. Null where a provider has no such price; the
 * last one is left out then.
 */
export type PriceStep = readonly [
  from: number,
  input: number,
  cacheRead: number | null,
  cacheWrite: number | null,
  output: number | null,
  cacheWriteHour?: number,
];

/** Lengths of prompts in tokens beyond which some model charges another price. */
export const PRICE_LEVELS = [0, 128_000, 200_000, 272_000, 512_000] as const;

/** The level that a prompt is charged at: a position in `PRICE_LEVELS`. */
export const priceLevel = (promptTokens: number): number =>
  promptTokens <= PRICE_LEVELS[1] ? 0 : PRICE_LEVELS.findLastIndex((from) => promptTokens > from);

let lookup: ((model: string) => readonly PriceStep[] | undefined) | undefined;

/** The list price of a model for prompts of a level. Undefined for a model that is not listed, or runs locally. */
export function catalogPrice(model: string, level: number): PriceStep | undefined {
  // Made when it is first asked for: most programs never do.
  lookup ??= catalogOf(PRICE_TABLE);
  const steps = lookup(model);
  // Most models have one price, and each turn asks for it.
  if (steps === undefined || steps.length === 1) return steps?.[0];
  return steps.findLast((step) => step[0] <= (PRICE_LEVELS[level] ?? 0));
}

/** Tokens that were sent again although a cache had had them, at the level of their prompts. */
export interface RebuiltTokens {
  model: string;
  tokens: number;
  level: number;
  /** Of `tokens`, those that were written for an hour. */
  hour: number;
}

/**
 * What rebuilt tokens cost, in US dollars: written to a cache again, or as plain input, less what reading them would have cost. Undefined
 * without a list price for all of it.
 */
export function rebuildPrice({ model, tokens, level, hour }: RebuiltTokens): number | undefined {
  const price = catalogPrice(model, level);
  if (price === undefined) return undefined;
  const [, , read] = price;
  const written = writePrice(price, tokens, hour);
  return read === null || written === undefined ? undefined : (written - tokens * read) / 1e6;
}

/** What tokens cost that were written to a cache, `hour` of them for an hour, in millionths of a dollar. */
function writePrice(
  [, input, , write, , writeHour]: PriceStep,
  tokens: number,
  hour: number,
): number | undefined {
  if (hour === 0) return tokens * (write ?? input);
  return writeHour === undefined ? undefined : (tokens - hour) * (write ?? input) + hour * writeHour;
}

/**
 * What a call costs at list prices, in US dollars. Undefined without a price, or without a count of its prompt or its output.
 * @param hour tokens that it wrote to a cache for an hour; see `hourWrite`
 */
export function listPrice(
  model: string,
  { contextTokens, fresh = 0, cacheRead = 0, cacheWrite = 0, output }: NormalisedUsage,
  hour: number | undefined,
): number | undefined {
  if (contextTokens === undefined || output === undefined) return undefined;
  return callsPrice({
    model,
    prompt: contextTokens,
    fresh,
    read: cacheRead,
    written: cacheWrite,
    hour,
    output,
  });
}

/** What calls cost at list prices, in US dollars, all of them at the level of `prompt`. Undefined without a price for some count. */
export function callsPrice({
  model,
  prompt,
  fresh,
  read,
  written,
  hour = 0,
  output,
}: Omit<SummaryCalls, "calls">): number | undefined {
  const price = catalogPrice(model, priceLevel(prompt));
  if (price === undefined) return undefined;
  const [, input, cacheRead, , perOutput] = price;
  const writing = writePrice(price, written, hour);
  if ((cacheRead === null && read > 0) || (perOutput === null && output > 0)) return undefined;
  if (writing === undefined) return undefined;
  return (fresh * input + read * (cacheRead ?? 0) + writing + output * (perOutput ?? 0)) / 1e6;
}

/** What reading a prompt from a cache costs at list prices, in US dollars. */
export function readPrice(model: string, promptTokens: number): number | undefined {
  const read = catalogPrice(model, priceLevel(promptTokens))?.[2];
  return typeof read === "number" ? (promptTokens * read) / 1e6 : undefined;
}
