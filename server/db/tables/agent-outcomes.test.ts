import { type AroundFalls, OutcomeCells } from "@plimsoll/fold";
import { BOUNDARY_TYPES } from "@plimsoll/protocol/events";
import fc from "fast-check";
import { expect, it } from "vitest";
import { packAroundFalls, packOutcomes, unpackAroundFalls, unpackOutcomes } from "./agent-outcomes.ts";

const count = fc.nat(63);
const anyCells = fc
  .array(
    fc.record({
      number: fc.integer({ min: 1, max: 10_000 }),
      level: fc.nat(1_000_000),
      share: fc.option(fc.double({ min: 0, max: 3, noNaN: true }), { nil: undefined }),
      outcome: fc.record(
        {
          calls: count,
          failed: count,
          repeated: count,
          rejected: count,
          cut_off: count,
          failed_tests: count,
          retried: fc.nat({ max: 1 }),
        },
        { requiredKeys: [] },
      ),
    }),
    { minLength: 1 },
  )
  .map((turns) => {
    const cells = new OutcomeCells();
    for (const turn of turns) cells.add(turn);
    return cells.cells();
  });

it("packed outcomes are unpacked as they were", () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat(2 ** 31 - 1), anyCells), { maxLength: 4 }), (models) => {
      const byModel = new Map(models);
      expect(unpackOutcomes(packOutcomes(byModel))).toEqual(byModel);
    }),
  );
});

it("packed work is unpacked as it was", () => {
  const size = fc.nat(2 ** 31 - 1);
  const anyWork: fc.Arbitrary<AroundFalls> = fc.record({
    type: fc.constantFrom(undefined, ...BOUNDARY_TYPES),
    reinjected: fc.boolean(),
    ...{ band: fc.nat(5), points: size },
    ...{ callsBefore: size, foundBefore: size, callsAfter: size, foundAfter: size },
  });
  fc.assert(
    fc.property(fc.array(anyWork, { maxLength: 8 }), (all) => {
      expect(unpackAroundFalls(packAroundFalls(all))).toEqual(all);
    }),
  );
});

it("bytes of another format are refused", () => {
  expect(() => unpackAroundFalls(Buffer.from([9]))).toThrow(RangeError);
  expect(() => unpackOutcomes(Buffer.from([9]))).toThrow(RangeError);
  expect(() => unpackOutcomes(packOutcomes(new Map([[1, []]])).subarray(0, 2))).toThrow(RangeError);
});
