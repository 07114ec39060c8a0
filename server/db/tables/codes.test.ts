import { LARGEST, OUTCOME_COUNTS, WINDOW_SOURCES } from "@plimsoll/protocol/events";
import fc from "fast-check";
import { expect, it } from "vitest";
import { type Facets, packFacets, packOutcome, unpackFacets, unpackOutcome } from "./codes.ts";

const anyFacets: fc.Arbitrary<Facets> = fc.record({
  basis: fc.constantFrom(undefined, "inclusive" as const, "exclusive" as const),
  windowSource: fc.constantFrom(...WINDOW_SOURCES),
  estimated: fc.boolean(),
  compaction: fc.boolean(),
  compositionEstimated: fc.boolean(),
  isRepeat: fc.boolean(),
  isToolResult: fc.boolean(),
  addedLife: fc.boolean(),
});

it("facets keep every fact, and fit into a smallint", () => {
  fc.assert(
    fc.property(anyFacets, (facets) => {
      const packed = packFacets(facets);
      expect(unpackFacets(packed)).toEqual(facets);
      expect(packed).toBeLessThan(2 ** 15);
    }),
  );
});

it("facets that were stored before there were five sources read as before", () => {
  expect(unpackFacets(0b1101).windowSource).toBe("reported");
  expect(unpackFacets(0b0001).windowSource).toBe("unknown");
});

it("outcomes keep every count, and which of them are known", () => {
  const count = (max: number) => fc.option(fc.nat({ max }), { nil: undefined });
  const anyOutcome = fc.record(
    Object.fromEntries(OUTCOME_COUNTS.map((name) => [name, count(name === "retried" ? 1 : LARGEST.outcome)])),
  );
  fc.assert(
    fc.property(anyOutcome, (outcome) => {
      const packed = packOutcome(outcome);
      expect(unpackOutcome(packed) ?? {}).toEqual(outcome);
      expect(Number.isSafeInteger(packed.outcome ?? 0)).toBe(true);
    }),
  );
});

it("one call without anything else takes one byte", () => {
  expect(packOutcome({ calls: 1, failed: 0, repeated: 0 })).toEqual({ outcome: 1, outcomeKnown: 0b111 });
});
