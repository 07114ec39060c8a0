import fc from "fast-check";
import { expect, test } from "vitest";
import { brushed, nearestBucket } from "./brush.ts";

const RANGE = { from: 1_000, to: 2_000 };

test.each([
  [1_200, 1_200, { intent: "open", from: 1_200, to: 1_300 }],
  [1_200, 1_400, { intent: "zoom", from: 1_200, to: 1_500 }],
  [1_400, 1_200, { intent: "zoom", from: 1_200, to: 1_500 }],
  // The first and the last bucket reach beyond the range.
  [950, 1_950, { intent: "zoom", from: 1_000, to: 2_000 }],
] as const)("from %d to %d", (pressed, released, expected) => {
  expect(brushed(pressed, released, 100, RANGE)).toEqual(expected);
});

test("a brushed range is never empty and stays within the range", () => {
  const bucket = fc.integer({ min: 0, max: 10 }).map((index) => 950 + index * 100);
  fc.assert(
    fc.property(bucket, bucket, (pressed, released) => {
      const { from, to } = brushed(pressed, released, 100, RANGE);
      expect(from).toBeLessThan(to);
      expect(from).toBeGreaterThanOrEqual(RANGE.from);
      expect(to).toBeLessThanOrEqual(RANGE.to);
    }),
  );
});

test.each([
  [[], 5, null],
  [[10], -1e9, 0],
  [[10, 20, 30], 14, 0],
  [[10, 20, 30], 16, 1],
  [[10, 20, 30], 99, 2],
] as const)("the bucket of %j nearest to %d", (buckets, at, expected) => {
  expect(nearestBucket(buckets, at)).toBe(expected);
});
