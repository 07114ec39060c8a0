import { describe, expect, it } from "vitest";
import { linesInView, thresholdLines } from "./threshold-lines.ts";

const lines = thresholdLines({
  thresholds: { warning: "15%", ceiling: "20%", soft: "70%", hard: 90_000, reserve: "10%" },
  threshold_origin: "default",
});

describe("the lines of a chart of utilization", () => {
  it("are the thresholds that are shares, the reserve counted from the top", () => {
    expect(lines.map(({ label, share }) => [label, share])).toEqual([
      ["warning 15%", 0.15],
      ["ceiling 20%", 0.2],
      ["soft 70%", 0.7],
      ["reserve 10%", 0.9],
    ]);
    expect(thresholdLines(undefined)).toEqual([]);
  });
  it.each([
    [0, ["warning", "ceiling"]],
    [0.14, ["warning", "ceiling"]],
    [0.5, ["warning", "ceiling", "soft"]],
    [0.9, ["warning", "ceiling", "soft", "reserve"]],
  ])("are left out where they stand far above data that reaches %d", (highest, names) => {
    expect(linesInView(lines, highest).map(({ name }) => name)).toEqual(names);
  });
  it("may be none", () => {
    expect(linesInView([], 0.5)).toEqual([]);
  });
});
