import { plainName } from "@plimsoll/fold";
import type { ModelPrice } from "@pydantic/genai-prices";
import type { PriceStep } from "../packages/fold/src/history/prices.ts";
import { type Listed, libraryEntry, listedNames, namesByValue, writeTable } from "./window-table.ts";

type Tiered = ModelPrice["input_mtok"];

const COUNTS = [
  "input_mtok",
  "cache_read_mtok",
  "cache_write_mtok",
  "output_mtok",
  "cache_write_1h_mtok",
] as const;

const priceAt = (price: Tiered, prompt: number): number | null => {
  if (price === undefined || price === null) return null;
  if (typeof price === "number") return price;
  return price.tiers.reduce((last, tier) => (prompt > tier.start ? tier.price : last), price.base);
};

/** The prices of a model by the length of its prompt, as JSON; undefined if the library has none. */
function stepsOf(name: string): string | undefined {
  const prices = libraryEntry(name)?.model_price;
  if (prices === undefined || (prices.input_mtok ?? null) === null) return undefined;
  const starts = COUNTS.flatMap((count) => {
    const price = prices[count];
    return typeof price === "object" && price !== null ? price.tiers.map(({ start }) => start) : [];
  });
  const steps = [0, ...new Set(starts)]
    .sort((one, other) => one - other)
    .map((start): PriceStep => {
      const [input, read, write, output, hour] = COUNTS.map((count) => priceAt(prices[count], start + 1));
      // Some are listed as beyond one token less.
      const step = [Math.ceil(start / 1_000) * 1_000, input!, read!, write!, output!] as const;
      return typeof hour === "number" ? [...step, hour] : step;
    });
  return JSON.stringify(steps);
}

/** Every name with a price, as `plainName` writes it. One with two prices has none. */
function listedPrices(): Map<string, Listed<string>> {
  const prices = new Map<string, Listed<string>>();
  const unclear = new Set<string>();
  for (const name of listedNames()) {
    const value = stepsOf(name);
    if (value === undefined) continue;
    const plain = plainName(name);
    const known = prices.get(plain);
    if (known !== undefined && known.value !== value) unclear.add(plain);
    const revised = stepsOf(`${name}-001`) === value;
    prices.set(plain, { value, revised: revised || known?.revised === true });
  }
  for (const name of unclear) prices.delete(name);
  return prices;
}

/** Names by price. */
export const priceTable = (): [prices: PriceStep[], models: string][] =>
  namesByValue(listedPrices())
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([steps, models]) => [JSON.parse(steps), models]);

/** The source text of the table. */
export function priceTableSource(): string {
  const rows = priceTable().map(([steps, models]) => `  [${JSON.stringify(steps)}, "${models}"],\n`);
  return (
    "// Written by `npm run windows` from @pydantic/genai-prices. Do not edit.\n\n" +
    'import type { PriceStep } from "./prices.ts";\n\n' +
    "/** Prices, each with the models that have them. One that ends with `$` has no revisions. */\n" +
    `export const PRICE_TABLE: readonly (readonly [prices: readonly PriceStep[], models: string])[] = [\n${rows.join("")}];\n`
  );
}

writeTable("price-table", import.meta.url, priceTableSource);
