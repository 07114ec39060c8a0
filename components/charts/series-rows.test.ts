import type { Series } from "@plimsoll/protocol/api";
import { expect, test } from "vitest";
import {
  barDomain,
  bucketRows,
  isolatedPoints,
  otherName,
  type SeriesRow,
  shareOf,
  stackedRows,
} from "./series-rows.ts";

const START = Date.UTC(2026, 10, 20, 10);
const iso = (minutes: number) => new Date(START + minutes * 60_000).toISOString();

function series(groups: Record<string, [number, number | null][]>): Series {
  return {
    metric: "boundaries",
    unit: "count",
    range: { from: iso(0), to: iso(5) },
    step: 60,
    groups: Object.entries(groups).map(([group, points]) => ({
      group: group === "" ? null : group,
      other: null,
      points: points.map(([minutes, value]) => ({ at: iso(minutes), value })),
    })),
  };
}

test("an empty bucket is a gap", () => {
  const rows = bucketRows({
    peak: series({
      "": [
        [1, 0.1],
        [3, 0.3],
      ],
    }),
    p95: series({ "": [[1, 0.05]] }),
  });
  expect(rows.map(({ peak }) => peak)).toEqual([null, 0.1, null, 0.3, null, null]);
  expect(rows.map(({ p95 }) => p95)).toEqual([null, 0.05, null, null, null, null]);
  expect(rows.map(({ at }) => (at - START) / 60_000)).toEqual([0, 1, 2, 3, 4, 5]);
});

test("buckets keep their own start if it differs from the start of the range", () => {
  const shifted = series({ "": [[1.5, 0.1]] });
  expect(bucketRows({ peak: shifted }).map(({ at }) => (at - START) / 60_000)).toEqual([
    -0.5, 0.5, 1.5, 2.5, 3.5, 4.5,
  ]);
});

test("a value without neighbors is isolated", () => {
  const rows = bucketRows({
    peak: series({
      "": [
        [0, 1],
        [2, 2],
        [3, 3],
      ],
    }),
  });
  expect([...isolatedPoints(rows, "peak")]).toEqual([START]);
});

test("every bucket has a row, and empty groups are left out", () => {
  const { rows, groups, totals } = stackedRows(
    series({
      masked: [
        [0, 2],
        [1, 1],
      ],
      subtick: [[1, 4]],
      cleared: [[0, 0]],
    }),
  );
  expect(rows).toEqual([
    { at: START, masked: 2, cleared: 0 },
    { at: START + 60_000, masked: 1, subtick: 4 },
    ...[2, 3, 4, 5].map((minutes) => ({ at: START + minutes * 60_000 })),
  ]);
  expect(groups).toEqual(["masked", "subtick"]);
  expect(totals.masked).toBe(3);
});

test.each([
  ["20%", 0.2],
  ["12.5%", 0.125],
  [150_000, null],
  [null, null],
])("shareOf(%s) is %s", (threshold, share) => {
  expect(shareOf(threshold)).toBe(share);
});

test("the axis includes whole buckets at both ends of the range", () => {
  const range = { from: 100, to: 400, step: 60 };
  const rows: SeriesRow[] = [
    { at: 40 },
    { at: 90, masked: 1 },
    { at: 150 },
    { at: 390, masked: 2 },
    { at: 450, masked: 0 },
  ];
  expect(barDomain(rows, ["masked"], range)).toEqual([90, 450]);
  expect(barDomain([{ at: 40 }, { at: 150, masked: 1 }, { at: 390 }], ["masked"], range)).toEqual([100, 400]);
  expect(barDomain([], [], range)).toEqual([100, 400]);
});

test.each([
  [{ names: 4_312, over_limit: false }, "other (4,312 names)"],
  [{ names: 1, over_limit: false }, "other (1 name)"],
  [{ names: 490, over_limit: true }, "other (at least 490 names)"],
  [{ names: 0, over_limit: true }, "other names"],
])("%j is named %s", (other, name) => {
  expect(otherName(other)).toBe(name);
});

test("the other names are one group of a stacked chart", () => {
  const all = series({ masked: [[0, 2]], "": [[0, 7]] });
  all.groups[1]!.other = { names: 30, over_limit: false };
  const { groups, totals } = stackedRows(all);
  expect(groups).toEqual(["masked", "other (30 names)"]);
  expect(totals["other (30 names)"]).toBe(7);
});
