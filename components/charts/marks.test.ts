import fc from "fast-check";
import { expect, test } from "vitest";
import { type ChartMark, groupText, markGroups } from "./marks.ts";

const FROM = Date.UTC(2026, 10, 24);
const TO = FROM + 100_000;
const mark = (second: number, label = "v1", kind: ChartMark["kind"] = "policy"): ChartMark => ({
  at: new Date(FROM + second * 1000).toISOString(),
  kind,
  label,
});

test("marks that are close to each other are one, and those outside the range are left out", () => {
  const groups = markGroups(
    [mark(-1), mark(0), mark(2.9), mark(3), mark(50), mark(100), mark(101)],
    FROM,
    TO,
  );
  expect(groups.map(({ place, marks }) => [place, marks.length])).toEqual([
    [0, 2],
    [0.03, 1],
    [0.5, 1],
    [1, 1],
  ]);
});

test("an empty range has no marks", () => {
  expect(markGroups([mark(0)], FROM, FROM)).toEqual([]);
});

test("every mark of the range is in one group, and groups are apart", () => {
  fc.assert(
    fc.property(fc.array(fc.nat(100)), (seconds) => {
      const marks = seconds.sort((a, b) => a - b).map((second) => mark(second));
      const groups = markGroups(marks, FROM, TO);
      expect(groups.flatMap((group) => group.marks)).toEqual(marks);
      for (const [index, { place }] of groups.entries())
        if (index > 0) expect(place - groups[index - 1]!.place).toBeGreaterThanOrEqual(0.03);
    }),
  );
});

test.each([
  [[mark(0, "v12")], "v12"],
  [[mark(0, "v12 stage", "rollout"), mark(1, "v12")], "v12 stage, v12"],
  [[mark(0, "Past the line", "alert")], "alert Past the line"],
  [[mark(0, "Past the line", "alert"), mark(1, "Past the line", "alert")], "alert Past the line (2)"],
  [[mark(0, "v3"), mark(0, "One", "alert"), mark(1, "Two", "alert")], "v3, 2 alerts"],
])("%#: %s", (marks, text) => {
  expect(groupText(markGroups(marks, FROM, TO)[0]!)).toBe(text);
});
