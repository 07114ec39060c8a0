import { describe, expect, it } from "vitest";
import { linesInView, thresholdLines } from "./threshold-lines.ts";

const lines = thresholdLines({
  thresholds: { warning: "15%", ceiling: "20%", soft: "70%", hard: 90_000, reserve: "10%" },
  threshold_origin: "default",
});

describe("threshold lines", () => {
  it("include thresholds given as shares, with the reserve counted from the top", () => {
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
  ])("leave out lines far above data that peaks at %d", (highest, names) => {
    expect(linesInView(lines, highest).map(({ name }) => name)).toEqual(names);
  });
  it("can be empty", () => {
    expect(linesInView([], 0.5)).toEqual([]);
  });
});
