import { WINDOW_SOURCES } from "@plimsoll/protocol/events";
import fc from "fast-check";
import { expect, it } from "vitest";
import { type Facets, packFacets, unpackFacets } from "./codes.ts";

const anyFacets: fc.Arbitrary<Facets> = fc.record({
  basis: fc.constantFrom(undefined, "inclusive" as const, "exclusive" as const),
  windowSource: fc.constantFrom(...WINDOW_SOURCES),
  estimated: fc.boolean(),
  compaction: fc.boolean(),
  compositionEstimated: fc.boolean(),
  isRepeat: fc.boolean(),
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
