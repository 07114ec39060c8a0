import { addBins } from "@plimsoll/fold";
import fc from "fast-check";
import { expect, it } from "vitest";
import { sumBins } from "./bins.ts";

it("adds histograms of different lengths", () => {
  expect(sumBins("{1,2} {} {0,10,3}")).toEqual([1, 12, 3]);
});

it("gives what adding them one by one gives", () => {
  const histogram = fc.array(fc.integer({ min: -3, max: 2_000_000 }), { minLength: 1, maxLength: 81 });
  fc.assert(
    fc.property(fc.array(histogram, { minLength: 1, maxLength: 30 }), (all) => {
      const text = all.map((bins) => `{${bins.join()}}`).join(" ");
      expect(sumBins(text)).toEqual(all.reduce(addBins));
    }),
  );
});
