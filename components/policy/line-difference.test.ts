import type { ObservedHarnessLine } from "@plimsoll/protocol/api";
import { expect, test } from "vitest";
import { byDifference, lineDifference } from "./line-difference.ts";

const line = (own: number | null, judged: number | null, median: number, falls = 3) =>
  ({
    line: own === null ? null : { tokens: own, basis: "computed" },
    judged_by: judged === null ? null : { threshold: "ceiling", tokens: judged, source: "policy" },
    observed: {
      falls,
      of: falls,
      lowest: median,
      highest: median,
      median,
      last_at: "2026-11-20T10:00:00.000Z",
    },
  }) as unknown as ObservedHarnessLine;

test.each([
  ["the own line", line(167_000, 150_000, 165_000), -2_000],
  ["the line of the policy without an own one", line(null, 150_000, 165_000), 15_000],
  ["nothing", line(null, null, 165_000), undefined],
])("the difference is to %s", (_, one, difference) => {
  expect(lineDifference(one)).toBe(difference);
});

test("rows are sorted by the share that they differ, then by how often it was observed", () => {
  const [small, large, unknown, often] = [
    line(1_000_000, null, 990_000),
    line(10_000, null, 5_000),
    line(null, null, 400_000),
    line(1_000_000, null, 990_000, 9),
  ];
  expect(byDifference([unknown, small, often, large])).toEqual([large, often, small, unknown]);
});
