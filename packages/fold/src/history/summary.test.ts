import { describe, expect, test } from "vitest";
import type { Peak, Summary, WindowSummary } from "./agent-state.ts";
import { EMPTY_SUMMARY, higherPeak, joinSummaries, joinWindows } from "./summary.ts";

function windowOf(index: number, rest: Partial<WindowSummary> = {}): WindowSummary {
  return {
    index,
    firstAt: 10,
    lastAt: 20,
    turns: 2,
    firstTokens: 100,
    lastTokens: 200,
    peakTokens: 200,
    peakUtilization: 0.2,
    windowTokens: 1_000,
    ...rest,
  };
}

const peak = (tokens: number, at: number): Peak => ({ tokens, at, windowTokens: 1_000 });

describe("two parts of one window", () => {
  test.each<[string, Partial<WindowSummary>, Partial<WindowSummary>, Partial<WindowSummary>]>([
    ["add their turns", { turns: 2 }, { turns: 3 }, { turns: 5 }],
    [
      "span both times",
      { firstAt: 10, lastAt: 20 },
      { firstAt: 15, lastAt: 30 },
      { firstAt: 10, lastAt: 30 },
    ],
    [
      "span a later part with an earlier clock",
      { firstAt: 10, lastAt: 20 },
      { firstAt: 5, lastAt: 15 },
      { firstAt: 5, lastAt: 20 },
    ],
    ["keep the first level of the earlier", { firstTokens: 1 }, { firstTokens: 2 }, { firstTokens: 1 }],
    [
      "take the first level of the later if the earlier has none",
      { firstTokens: undefined },
      { firstTokens: 2 },
      { firstTokens: 2 },
    ],
    ["keep the last level of the later", { lastTokens: 1 }, { lastTokens: 2 }, { lastTokens: 2 }],
    [
      "keep the last level of the earlier if the later has none",
      { lastTokens: 1 },
      { lastTokens: undefined },
      { lastTokens: 1 },
    ],
    ["keep the higher peak", { peakTokens: 9 }, { peakTokens: 4 }, { peakTokens: 9 }],
    ["keep the higher share", { peakUtilization: 0.1 }, { peakUtilization: 0.3 }, { peakUtilization: 0.3 }],
    [
      "have no peak if neither has one",
      { peakTokens: undefined },
      { peakTokens: undefined },
      { peakTokens: undefined },
    ],
    ["take the size of the later", { windowTokens: 1_000 }, { windowTokens: 4_000 }, { windowTokens: 4_000 }],
    [
      "keep the size of the earlier if the later has none",
      { windowTokens: 1_000 },
      { windowTokens: undefined },
      { windowTokens: 1_000 },
    ],
  ])("%s", (_, earlier, later, expected) => {
    expect(joinWindows(windowOf(3, earlier), windowOf(3, later))).toMatchObject({ index: 3, ...expected });
  });
});

describe("of two peaks", () => {
  test.each<[string, Peak | undefined, Peak | undefined, Peak | undefined]>([
    ["the higher stays", peak(900, 1), peak(800, 2), peak(900, 1)],
    ["the higher replaces", peak(800, 1), peak(900, 2), peak(900, 2)],
    ["the earlier of two equal ones stays", peak(900, 1), peak(900, 2), peak(900, 1)],
    ["the only one stays", undefined, peak(900, 2), peak(900, 2)],
    ["none is unknown", undefined, undefined, undefined],
  ])("%s", (_, earlier, later, expected) => {
    expect(higherPeak(earlier, later)).toEqual(expected);
  });
});

describe("summaries of consecutive runs", () => {
  const first: Summary = {
    turns: 2,
    marks: 3,
    peak: peak(900, 1),
    peakUtilization: 0.9,
    windows: [windowOf(0), windowOf(1)],
  };
  const second: Summary = {
    turns: 4,
    marks: 5,
    peak: peak(900, 5),
    peakUtilization: 1.2,
    windows: [windowOf(1, { turns: 4 })],
  };

  test("add turns and marks, and join windows by index and peaks by height", () => {
    const { windows, ...rest } = joinSummaries(first, second);
    expect(rest).toEqual({ turns: 6, marks: 8, peak: peak(900, 1), peakUtilization: 1.2 });
    expect(windows.map(({ index, turns }) => [index, turns])).toEqual([
      [0, 2],
      [1, 6],
    ]);
  });
  test("sort windows that a later run goes back to", () => {
    const windows = joinSummaries({ ...second, windows: [windowOf(7)] }, first).windows;
    expect(windows.map(({ index }) => index)).toEqual([0, 1, 7]);
  });
  test("are the same however they are grouped", () => {
    const third: Summary = {
      turns: 1,
      marks: 0,
      peak: undefined,
      peakUtilization: undefined,
      windows: [windowOf(1), windowOf(2)],
    };
    const grouped = joinSummaries(first, joinSummaries(second, third));
    expect(grouped).toEqual(joinSummaries(joinSummaries(first, second), third));
    expect(grouped).toEqual(joinSummaries(first, second, third));
  });
  test("do not change when nothing is added", () => {
    expect(joinSummaries(first, EMPTY_SUMMARY)).toEqual(first);
    expect(joinSummaries(EMPTY_SUMMARY, first)).toEqual(first);
    expect(joinSummaries()).toEqual(EMPTY_SUMMARY);
  });
});
