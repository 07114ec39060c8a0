import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { addBins, BIN_COUNT, BIN_WIDTH, binOf, percentile } from "./histogram.ts";

const histogram = (levels: readonly number[]): number[] => {
  const bins: number[] = [];
  for (const level of levels) {
    const bin = binOf(level);
    while (bins.length <= bin) bins.push(0);
    bins[bin]! += 1;
  }
  return bins;
};

describe("the bin of a utilization", () => {
  test.each([
    [0, 0],
    [0.0249, 0],
    [0.025, 1],
    [0.15, 6],
    [0.7, 28],
    [1, 40],
    [1.999, 79],
    [2, 80],
    [4.02, 80],
  ])("%s", (utilization, bin) => {
    expect(binOf(utilization)).toBe(bin);
  });
  test("every edge falls into the bin above it", () => {
    for (let bin = 0; bin < BIN_COUNT; bin++) expect(binOf(bin * BIN_WIDTH)).toBe(bin);
  });
});

const share = fc.integer({ min: 0, max: 300 }).map((thousandths) => thousandths / 200);
const levels = fc.array(share, { maxLength: 60 });

test("merged histograms are the histogram of the whole, in any order", () => {
  fc.assert(
    fc.property(levels, levels, levels, (a, b, c) => {
      const whole = histogram([...a, ...b, ...c]);
      expect(addBins(addBins(histogram(a), histogram(b)), histogram(c))).toEqual(whole);
      expect(addBins(histogram(c), addBins(histogram(b), histogram(a)))).toEqual(whole);
    }),
  );
});

test("a percentile is within a bin of the exact one, never above the peak, and rises with its share", () => {
  fc.assert(
    fc.property(fc.array(share, { minLength: 1, maxLength: 60 }), (given) => {
      const sorted = [...given].sort((a, b) => a - b);
      const peak = sorted.at(-1)!;
      const bins = histogram(given);
      let previous = 0;
      for (const wanted of [0.01, 0.25, 0.5, 0.75, 0.95, 0.99, 1]) {
        const value = percentile(bins, wanted, peak)!;
        const exact = sorted[Math.ceil(wanted * sorted.length - 1e-9) - 1]!;
        expect(Math.abs(value - exact)).toBeLessThanOrEqual(BIN_WIDTH + 1e-9);
        expect(value).toBeLessThanOrEqual(peak);
        expect(value).toBeGreaterThanOrEqual(previous);
        previous = value;
      }
    }),
  );
});

describe("percentiles at the ends", () => {
  test("of nothing are unknown", () => {
    expect(percentile([], 0.95)).toBeUndefined();
    expect(percentile([0, 0], 0.95)).toBeUndefined();
  });
  test("of one level do not pass it", () => {
    expect(percentile(histogram([0.31]), 0.95, 0.31)).toBeLessThanOrEqual(0.31);
  });
  test("beyond 200 % reach up to the peak", () => {
    expect(percentile(histogram([4, 4, 4, 4]), 1, 4)).toBe(4);
    expect(percentile(histogram([0.1, 0.1, 0.1, 4]), 0.5, 4)).toBeLessThan(0.126);
  });
});
