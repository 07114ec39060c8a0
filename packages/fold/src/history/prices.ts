import { catalogOf } from "./models.ts";
import { PRICE_TABLE } from "./price-table.ts";

/**
 * Prices of prompts of more than `from` tokens, in US dollars a million tokens: of the input that no cache had, of what was read from
 * and written to a cache, and of the output. Null where a provider has no such price.
 */
export type PriceStep = readonly [
  from: number,
  input: number,
  cacheRead: number | null,
  cacheWrite: number | null,
  output: number | null,
];

let lookup: ((model: string) => readonly PriceStep[] | undefined) | undefined;

/** The list price of a model for a prompt of so many tokens. Undefined for a model that is not listed, or runs locally. */
export function catalogPrice(model: string, promptTokens: number): PriceStep | undefined {
  // Made when it is first asked for: most programs never do.
  lookup ??= catalogOf(PRICE_TABLE);
  return lookup(model)?.findLast(([from]) => from === 0 || promptTokens > from);
}

/**
 * What tokens cost that were sent again although a cache had had them, in US dollars: written to it again, or as plain input, less what
 * reading them would have cost. Undefined without a list price for both.
 */
export function rebuildPrice(model: string, tokens: number, promptTokens: number): number | undefined {
  const price = catalogPrice(model, promptTokens);
  if (price === undefined) return undefined;
  const [, input, read, write] = price;
  return read === null ? undefined : (tokens * ((write ?? input) - read)) / 1e6;
}
