import { describe, expect, test } from "vitest";
import { EMPTY_STATE } from "./agent-state.ts";
import { foldSegments, mayCut } from "./segments.ts";
import { mark, OPTIONS, report, turn } from "./testing/agent-history.ts";

const climb = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, n) => turn(`t${from + n}`, from + n, 100 + from + n));

/** Turns of each closed segment and of the open one, with the time of each cut. */
function cutsOf(segments: ReturnType<typeof foldSegments>) {
  if (segments === undefined) return undefined;
  const { closed, open } = segments;
  return {
    turns: [...closed.map(({ result }) => result.turns.length), open.turns.length],
    ends: closed.map(({ endsAt }) => endsAt),
  };
}

describe("a history is cut", () => {
  const cut = (
    turns: ReturnType<typeof climb>,
    marks: ReturnType<typeof mark>[],
    size = 4,
    openTurns = 0,
    keep = 0,
  ) => cutsOf(foldSegments(EMPTY_STATE, { turns, marks }, OPTIONS, { size, openTurns, keep }));

  test.each<[string, Parameters<typeof cut>, { turns: number[]; ends: number[] }]>([
    ["not at all while it is short", [climb(0, 3), []], { turns: [3], ends: [] }],
    ["after as many turns as a segment has", [climb(0, 10), []], { turns: [4, 4, 2], ends: [3, 7] }],
    [
      "sooner when the open segment has turns already",
      [climb(0, 6), [], 4, 3],
      { turns: [1, 4, 1], ends: [0, 4] },
    ],
    [
      "only where as many turns are left as late events may reach",
      [climb(0, 10), [], 4, 0, 3],
      { turns: [4, 6], ends: [3] },
    ],
    [
      "never between events of one time",
      [[...climb(0, 4), turn("same", 3, 300), ...climb(4, 6)], []],
      { turns: [5, 2], ends: [3] },
    ],
    [
      "never between a boundary and the turn that shows its effect",
      [climb(0, 10), [mark("m", 3, "masked")]],
      { turns: [8, 2], ends: [7] },
    ],
    [
      "never between a report and the level it may mean",
      [climb(0, 10), [report("r", 3, "budget", true, 9_999)]],
      { turns: [8, 2], ends: [7] },
    ],
    [
      "after a report whose level is known",
      [climb(0, 10), [report("r", 3, "budget", true, 103)]],
      { turns: [4, 4, 2], ends: [3, 7] },
    ],
  ])("%s", (_, given, expected) => {
    expect(cut(...given)).toEqual(expected);
  });
  test("at the latest event of the segment, whether a turn or a mark", () => {
    const closed = cut(climb(0, 4), [mark("p", 3, "phase")], 4)!;
    expect(closed.ends).toEqual([3]);
  });
  test("again in one piece if a later event belongs before the cut", () => {
    const late = turn("late", 20, 90, { seq: 1 });
    const numbered = climb(0, 8).map((one, index) => ({ ...one, seq: index + 2 }));
    expect(cut([...numbered, late], [])).toEqual({ turns: [9], ends: [] });
  });
});

test("events that do not come after the state give no segments", () => {
  const { state } = foldSegments(EMPTY_STATE, { turns: climb(5, 9), marks: [] }, OPTIONS, {
    size: 99,
    openTurns: 0,
  })!.open;
  const late = { turns: [turn("late", 1, 100)], marks: [] };
  expect(foldSegments(state, late, OPTIONS, { size: 2, openTurns: 0 })).toBeUndefined();
  expect(foldSegments(state, late, OPTIONS, { size: 99, openTurns: 0 })).toBeUndefined();
});

test("no events lead back to the same state", () => {
  const { state } = foldSegments(EMPTY_STATE, { turns: climb(0, 3), marks: [] }, OPTIONS, {
    size: 99,
    openTurns: 0,
  })!.open;
  const again = foldSegments(state, { turns: [], marks: [] }, OPTIONS, { size: 99, openTurns: 3 })!;
  expect(again.closed).toEqual([]);
  expect(again.open.state).toEqual(state);
});

describe("a cut is allowed", () => {
  const state = (marks: ReturnType<typeof mark>[]) =>
    foldSegments(EMPTY_STATE, { turns: climb(0, 2), marks }, OPTIONS, { size: 99, openTurns: 0 })!.open.state;
  test.each([
    ["after a turn", [], true],
    ["after a mark that is no boundary", [mark("p", 5, "phase")], true],
    ["not after a boundary without its turn", [mark("m", 5, "masked")], false],
    ["not after a report without its level", [report("r", 5, "budget", true, 9_999)], false],
  ])("%s", (_, marks, allowed) => {
    expect(mayCut(state(marks))).toBe(allowed);
  });
});
