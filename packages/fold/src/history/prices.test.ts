import type { Usage } from "@plimsoll/protocol/pure";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { PRICE_TABLE } from "./price-table.ts";
import { catalogPrice, listPrice, PRICE_LEVELS, priceLevel, rebuildPrice } from "./prices.ts";
import { normaliseUsage } from "./usage.ts";

it.each([
  [0, 0],
  [128_000, 0],
  [128_001, 1],
  [200_000, 1],
  [200_001, 2],
  [272_000, 2],
  [272_001, 3],
  [512_001, 4],
  [2_000_000, 4],
])("a prompt of %i tokens is charged at level %i", (tokens, level) => {
  expect(priceLevel(tokens)).toBe(level);
});

it("a level is all that a price depends on: no model charges by another length", () => {
  const levels: readonly number[] = PRICE_LEVELS;
  for (const [steps] of PRICE_TABLE)
    for (const [from, , read] of steps) {
      expect(levels).toContain(from);
      expect(read ?? 0).toBeGreaterThanOrEqual(0);
    }
});

it("the level of a prompt leads to the last step that it is longer than", () => {
  const models = PRICE_TABLE.flatMap(([, names]) => names.split(" ").map((name) => name.replace("$", "")));
  fc.assert(
    fc.property(fc.constantFrom(...models), fc.integer({ min: 1, max: 2_000_000 }), (model, tokens) => {
      const [, names] = PRICE_TABLE.find(([, listed]) =>
        listed.replaceAll("$", "").split(" ").includes(model),
      )!;
      const [steps] = PRICE_TABLE.find(([, listed]) => listed === names)!;
      const expected = steps.findLast(([from]) => from === 0 || tokens > from);
      expect(catalogPrice(model, priceLevel(tokens))).toEqual(expected);
    }),
  );
});

describe("what tokens cost that were sent again", () => {
  it.each<[string, string, number, number | undefined]>([
    // Written again for 6.25 dollars a million, instead of read for 0.5.
    ["is the write less the read where a cache is written on request", "claude-opus-4-6", 0, 5.75],
    ["is the input less the read where a cache is filled by itself", "gpt-5-nano", 0, 0.045],
    ["depends on the length of the prompt", "gemini-flash-1-5-8b", 1, 0.055],
    ["is unknown without a price of a read", "gpt-oss-20b", 0, undefined],
    ["is unknown for a model that is not listed", "my-own-model", 0, undefined],
  ])("%s", (_, model, level, dollars) => {
    const usd = rebuildPrice(model, 1_000_000, level);
    if (dollars === undefined) expect(usd).toBeUndefined();
    else expect(usd).toBeCloseTo(dollars, 10);
  });

  it("grows with the tokens, and is nothing for none", () => {
    expect(rebuildPrice("claude-opus-4-6", 0, 0)).toBe(0);
    fc.assert(
      fc.property(fc.nat(1e9), fc.nat(1e9), (one, other) => {
        const sum = rebuildPrice("claude-opus-4-6", one + other, 0)!;
        const parts = rebuildPrice("claude-opus-4-6", one, 0)! + rebuildPrice("claude-opus-4-6", other, 0)!;
        expect(sum).toBeCloseTo(parts, 6);
      }),
    );
  });
});

describe("what a call costs at list prices", () => {
  const million = 1_000_000;
  it.each<[string, string, Partial<Usage>, number | undefined]>([
    ["adds up its parts", "claude-opus-4-6", { input_tokens: 0.1 * million, output_tokens: 10_000 }, 0.75],
    [
      "charges less for what a cache had",
      "claude-opus-4-6",
      { input_tokens: 0, cache_read_tokens: 0.1 * million, output_tokens: 0 },
      0.05,
    ],
    ["is unknown without a count of the output", "claude-opus-4-6", { input_tokens: 5 }, undefined],
    ["is unknown without a count of the prompt", "claude-opus-4-6", { output_tokens: 5 }, undefined],
    [
      "is unknown for a model that runs locally",
      "llama3.1:latest",
      { input_tokens: 5, output_tokens: 5 },
      undefined,
    ],
  ])("%s", (_, model, usage, dollars) => {
    const usd = listPrice(model, normaliseUsage(usage as Usage));
    if (dollars === undefined) expect(usd).toBeUndefined();
    else expect(usd).toBeCloseTo(dollars, 10);
  });
});
