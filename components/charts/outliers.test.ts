import type { Series } from "@plimsoll/protocol/api";
import fc from "fast-check";
import { expect, test } from "vitest";
import { axisTop, cappedBar, labelledOutliers, withinWindow } from "./outliers.ts";

test.each([
  [[], 0],
  [[0, 0, 3], 3],
  [[1, 1, 1, 500], 500],
  [[1, 2, 2, 3, 3, 4, 4, 4, 4, 20], 20],
  [[1, 2, 2, 3, 3, 4, 4, 4, 4, 21], 6],
  [[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7], 7],
])("the axis of %j reaches to %d", (values, top) => {
  expect(axisTop(values)).toBe(top);
});

test("the axis holds at least nine tenths of the values above zero", () => {
  fc.assert(
    fc.property(fc.array(fc.nat(10_000)), (values) => {
      const top = axisTop(values);
      const positive = values.filter((value) => value > 0);
      expect(positive.filter((value) => value > top).length).toBeLessThanOrEqual(positive.length * 0.1);
      expect(top).toBeLessThanOrEqual(Math.max(0, ...values));
    }),
  );
});

test("a bar beyond the axis keeps the shares of its parts", () => {
  // 680 boundaries, of which 87 are maskings, on an axis to 60.
  expect(cappedBar([87, 196, 145, 252], 60)).toEqual({
    values: [87, 196, 145, 252].map((value) => (value / 680) * 60),
    isCapped: true,
  });
  expect(cappedBar([3, 0, 2], 5)).toEqual({ values: [3, 0, 2], isCapped: false });
  expect(cappedBar([], 5)).toEqual({ values: [], isCapped: false });
  const count = fc.nat(100_000);
  fc.assert(
    fc.property(fc.array(count, { minLength: 1 }), fc.integer({ min: 1, max: 1000 }), (values, top) => {
      const bar = cappedBar(values, top);
      const sum = values.reduce((total, value) => total + value, 0);
      const drawn = bar.values.reduce((total, value) => total + value, 0);
      expect(drawn).toBeCloseTo(Math.min(sum, top), 6);
      for (const [index, value] of values.entries())
        expect(bar.values[index]! * sum).toBeCloseTo(value * drawn, 3);
    }),
  );
});

test("levels above the window are left out, and their buckets keep the others", () => {
  const at = (minute: number) => new Date(Date.UTC(2026, 10, 24, 9, minute)).toISOString();
  const peak = {
    groups: [
      {
        group: null,
        other: null,
        points: [
          { at: at(0), value: 1 },
          { at: at(1), value: 3.6, within: 0.4 },
          { at: at(2), value: 1.2, within: null },
          { at: at(3), value: null },
        ],
      },
    ],
  } as unknown as Series;
  const { series, outliers } = withinWindow(peak);
  expect(series?.groups[0]?.points.map(({ value }) => value)).toEqual([1, 0.4, null, null]);
  expect(outliers).toEqual([
    { at: Date.parse(at(1)), value: 3.6 },
    { at: Date.parse(at(2)), value: 1.2 },
  ]);
  expect(withinWindow(undefined)).toEqual({ series: undefined, outliers: [] });
});

test.each([
  [[], []],
  [[10], []],
  [[20], [20]],
  [
    [20, 30, 36, 60, 95],
    [20, 60, 95],
  ],
  [
    [20, 40, 60, 80],
    [40, 60, 80],
  ],
  [[94, 95, 96, 97, 98, 99], [94]],
])("of outliers at %j in a range from 0 to 100, those at %j have room for a number", (times, labelled) => {
  expect([...labelledOutliers(times, 0, 100)]).toEqual(labelled);
});
