import { contextTokens } from "@plimsoll/fold";
import type { Usage } from "@plimsoll/protocol/events";
import fc from "fast-check";
import { expect, it } from "vitest";
import { mergeLineUsage } from "./line-usage.ts";

const maybeCount = fc.option(fc.nat(100_000), { nil: undefined });
const anyUsage: fc.Arbitrary<Usage> = fc.record({
  input_tokens: maybeCount,
  cache_read_tokens: maybeCount,
  cache_write_tokens: maybeCount,
  cache_write_1h_tokens: maybeCount,
  output_tokens: maybeCount,
  reasoning_tokens: maybeCount,
  basis: fc.option(fc.constantFrom("inclusive" as const, "exclusive" as const), { nil: undefined }),
});

it("does not depend on order, grouping or repetition", () => {
  fc.assert(
    fc.property(anyUsage, anyUsage, anyUsage, (a, b, c) => {
      expect(mergeLineUsage(a, b)).toEqual(mergeLineUsage(b, a));
      expect(mergeLineUsage(mergeLineUsage(a, b), c)).toEqual(mergeLineUsage(a, mergeLineUsage(b, c)));
      expect(mergeLineUsage(a, a)).toEqual(a);
    }),
    { numRuns: 1_000 },
  );
});

it("has the context of the larger line, never fields of two", () => {
  fc.assert(
    fc.property(anyUsage, anyUsage, (a, b) => {
      const both = [contextTokens(a), contextTokens(b)].filter((tokens) => tokens !== undefined);
      if (both.length > 0) expect(contextTokens(mergeLineUsage(a, b))).toBe(Math.max(...both));
    }),
  );
});
