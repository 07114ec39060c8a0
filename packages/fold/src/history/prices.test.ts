import type { Usage } from "@plimsoll/protocol/pure";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { PRICE_TABLE } from "./price-table.ts";
import { catalogPrice, listPrice, PRICE_LEVELS, priceLevel, rebuildPrice } from "./prices.ts";
import { hourWrite, normaliseUsage } from "./usage.ts";

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

it.each(["ft:gpt-4o-2024-08-06:acme::9xYz", "azure/gpt-4o-mini-2024-07-18.ft-0123abcd"])(
  "%s was tuned, and has not the price of the model that it was made from",
  (model) => {
    expect(catalogPrice(model, 0)).toBeUndefined();
  },
);

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
    const usd = rebuildPrice({ model, tokens: 1_000_000, level, hour: 0 });
    if (dollars === undefined) expect(usd).toBeUndefined();
    else expect(usd).toBeCloseTo(dollars, 10);
  });

  it("grows with the tokens, and is nothing for none", () => {
    const priceOf = (tokens: number, hour = 0) =>
      rebuildPrice({ model: "claude-opus-4-6", tokens, level: 0, hour })!;
    expect(priceOf(0)).toBe(0);
    fc.assert(
      fc.property(fc.nat(1e9), fc.nat(1e9), (one, other) => {
        expect(priceOf(one + other)).toBeCloseTo(priceOf(one) + priceOf(other), 6);
        expect(priceOf(one + other, other)).toBeCloseTo(priceOf(one) + priceOf(other, other), 6);
      }),
    );
  });

  it("is more for what was written for an hour, and unknown without a list price of that", () => {
    // Written for 10 dollars a million, instead of read for 0.5.
    const all = { tokens: 1_000_000, level: 0, hour: 1_000_000 };
    expect(rebuildPrice({ model: "claude-opus-4-6", ...all })).toBeCloseTo(9.5, 10);
    expect(rebuildPrice({ model: "gpt-5-nano", ...all })).toBeUndefined();
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
    [
      "charges more for what a cache keeps for an hour",
      "claude-opus-4-6",
      {
        input_tokens: 0,
        cache_write_tokens: 0.1 * million,
        cache_write_1h_tokens: 0.04 * million,
        output_tokens: 0,
      },
      0.06 * 6.25 + 0.04 * 10,
    ],
    [
      "charges by the length of the prompt for that too",
      "claude-sonnet-4-5",
      {
        input_tokens: 0,
        cache_read_tokens: 0.2 * million,
        cache_write_tokens: 0.1 * million,
        cache_write_1h_tokens: 0.1 * million,
        output_tokens: 0,
        basis: "exclusive",
      },
      0.2 * 0.6 + 0.1 * 12,
    ],
    [
      "never charges for more than was written",
      "claude-opus-4-6",
      {
        input_tokens: 0,
        cache_write_tokens: 0.1 * million,
        cache_write_1h_tokens: million,
        output_tokens: 0,
      },
      1,
    ],
    [
      "is unknown for writes for an hour that have no list price",
      "gpt-5-nano",
      { input_tokens: 5, cache_write_tokens: 5, cache_write_1h_tokens: 5, output_tokens: 5 },
      undefined,
    ],
    [
      "needs no such price for none",
      "gpt-5-nano",
      { input_tokens: million, cache_write_tokens: 0, cache_write_1h_tokens: 0, output_tokens: 0 },
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
    const usd = listPrice(model, normaliseUsage(usage as Usage), hourWrite(usage as Usage));
    if (dollars === undefined) expect(usd).toBeUndefined();
    else expect(usd).toBeCloseTo(dollars, 10);
  });
});
