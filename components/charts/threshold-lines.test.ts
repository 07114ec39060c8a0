import { describe, expect, it } from "vitest";
import { linesInView, thresholdLines, thresholdPieces } from "./threshold-lines.ts";

const lines = thresholdLines({
  thresholds: { warning: "15%", ceiling: "20%", soft: "70%", hard: 90_000, reserve: "10%" },
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
  it("are drawn as they stood over the range", () => {
    const thresholds = { warning: null, ceiling: "50%", soft: null, hard: null, reserve: null } as const;
    const status = { thresholds, threshold_origin: "policy", threshold_steps: [] } as const;
    const range = { from: 1_000, to: 9_000 };
    expect(thresholdPieces({ ...status, threshold_steps: [] }, range)).toMatchObject([
      { ...range, lines: [{ name: "ceiling", share: 0.5 }] },
    ]);
    const at = (ms: number) => new Date(ms).toISOString();
    const threshold_steps = [
      { at: at(1_000), thresholds: { ...thresholds, ceiling: "70%" } },
      { at: at(4_000), thresholds },
    ];
    expect(thresholdPieces({ ...status, threshold_steps }, range)).toMatchObject([
      { from: 1_000, to: 4_000, lines: [{ share: 0.7 }] },
      { from: 4_000, to: 9_000, lines: [{ share: 0.5 }] },
    ]);
  });
  it("can be empty", () => {
    expect(linesInView([], 0.5)).toEqual([]);
  });
});
