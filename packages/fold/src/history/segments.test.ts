import { describe, expect, test } from "vitest";
import { type AgentState, EMPTY_STATE } from "./agent-state.ts";
import { type AgentEvents, STEP_EVENTS } from "./fold.ts";
import { MOST_WAITED } from "./pending-boundary.ts";
import {
  foldSegments as foldInSteps,
  MARKS_FOR_TURN,
  mayCut,
  type SegmentOptions,
  type Segments,
} from "./segments.ts";
import { finish } from "./steps.ts";
import { mark, OPTIONS, report, turn } from "./testing/agent-history.ts";

const foldSegments = (
  state: AgentState,
  events: AgentEvents,
  { openMarks = 0, ...rest }: Omit<SegmentOptions, "openMarks"> & { openMarks?: number },
) => finish(foldInSteps(state, events, OPTIONS, { openMarks, ...rest }));

const climb = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, n) => turn(`t${from + n}`, from + n, 100 + from + n));

/** Turns of each closed segment and of the open one, with the time of each cut. */
function cutsOf(segments: Segments | undefined) {
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
  ) => cutsOf(foldSegments(EMPTY_STATE, { turns, marks }, { size, openTurns, keep }));

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

describe("a history of many events", () => {
  const SIZE = 64;
  const many = <T>(count: number, make: (n: number) => T) => Array.from({ length: count }, (_, n) => make(n));
  const halves = (count: number) => ({
    turns: many(count / 2, (n) => turn(`t${n}`, 2 * n, 100 + (n % 9))),
    marks: many(count / 2, (n) => mark(`m${n}`, 2 * n + 1, "restarted")),
  });
  const uncounted = (n: number) => turn(`t${n}`, n + 1, undefined);

  const SHAPES: [string, (count: number) => AgentEvents][] = [
    ["turns", (count) => ({ turns: climb(0, count), marks: [] })],
    ["turns in reverse", (count) => ({ turns: climb(0, count).reverse(), marks: [] })],
    [
      "turns numbered in reverse",
      (count) => ({ turns: climb(0, count).map((one, n) => ({ ...one, seq: count - n })), marks: [] }),
    ],
    [
      "turns before a last one that belongs first",
      (count) => ({
        turns: [
          ...climb(0, count).map((one, n) => ({ ...one, seq: n + 1 })),
          turn("last", count, 9, { seq: 0 }),
        ],
        marks: [],
      }),
    ],
    [
      "a boundary and turns without a level",
      (n) => ({ turns: many(n, uncounted), marks: [mark("m", 0, "masked")] }),
    ],
    ["restarts between turns", halves],
    ["boundaries", (count) => ({ turns: [], marks: many(count, (n) => mark(`m${n}`, n, "masked")) })],
    [
      "boundaries in reverse",
      (count) => ({ turns: [], marks: many(count, (n) => mark(`m${n}`, -n, "masked")) }),
    ],
    [
      "boundaries at one time",
      (count) => ({ turns: [], marks: many(count, (n) => mark(`m${n}`, 0, "masked")) }),
    ],
    [
      "compactions that differ",
      (count) => ({
        turns: [],
        marks: many(count, (n) => mark(`m${n}`, Math.floor(n / 99), "compacted", { tokensBefore: n })),
      }),
    ],
    ["signs", (count) => ({ turns: [], marks: many(count, (n) => mark(`m${n}`, n, "wind_down")) })],
    [
      "reports",
      (count) => ({ turns: [], marks: many(count, (n) => report(`r${n}`, n, "warning", true, n)) }),
    ],
    [
      "reports of any threshold at one level",
      (count) => ({
        turns: climb(0, 1),
        marks: many(count, (n) => report(`r${n}`, n + 1, `own-${n}`, true, 100)),
      }),
    ],
  ];

  /** Everything that a fold does per event or per comparison costs a step or time; steps are the same on every machine. */
  function folded(events: AgentEvents) {
    let steps = 0;
    const work = foldInSteps(EMPTY_STATE, events, OPTIONS, { size: SIZE, openTurns: 0, openMarks: 0 });
    const started = process.cpuUsage().user;
    for (let next = work.next(); ; next = work.next()) {
      if (next.done) return { steps, ms: (process.cpuUsage().user - started) / 1_000, segments: next.value! };
      steps += 1;
    }
  }

  /** Collections of garbage and a shared core only ever add to a time, so the least of three is nearest to what the work takes. */
  const leastMs = (events: AgentEvents) => Math.min(...[1, 2, 3].map(() => folded(events).ms));

  test.each(SHAPES)("%s folds in steps, in a time that grows like the number of events", (_, shape) => {
    folded(shape(2_000));
    const many = folded(shape(16_000));
    expect(many.steps).toBeGreaterThanOrEqual(16_000 / STEP_EVENTS - 1);
    expect(leastMs(shape(16_000))).toBeLessThan(8 * leastMs(shape(4_000)) + 100);
    expect(JSON.stringify(many.segments.open.state).length).toBeLessThan(30_000);
  });

  const cuttable = SHAPES.filter(([name]) => !/numbered|belongs first|one time/.test(name));
  test.each(cuttable)("%s are cut at least every few hundred events", (_, shape) => {
    const { closed, open } = folded(shape(4_000)).segments;
    for (const { summary } of [...closed.map(({ result }) => result), open])
      expect(summary.turns + summary.marks).toBeLessThanOrEqual(2 * (MOST_WAITED + MARKS_FOR_TURN * SIZE));
  });
});

test("events that do not come after the state give no segments", () => {
  const { state } = foldSegments(
    EMPTY_STATE,
    { turns: climb(5, 9), marks: [] },
    {
      size: 99,
      openTurns: 0,
    },
  )!.open;
  const late = { turns: [turn("late", 1, 100)], marks: [] };
  expect(foldSegments(state, late, { size: 2, openTurns: 0 })).toBeUndefined();
  expect(foldSegments(state, late, { size: 99, openTurns: 0 })).toBeUndefined();
});

test("no events lead back to the same state", () => {
  const { state } = foldSegments(
    EMPTY_STATE,
    { turns: climb(0, 3), marks: [] },
    {
      size: 99,
      openTurns: 0,
    },
  )!.open;
  const again = foldSegments(state, { turns: [], marks: [] }, { size: 99, openTurns: 3 })!;
  expect(again.closed).toEqual([]);
  expect(again.open.state).toEqual(state);
});

describe("a cut is allowed", () => {
  const state = (marks: ReturnType<typeof mark>[]) =>
    foldSegments(EMPTY_STATE, { turns: climb(0, 2), marks }, { size: 99, openTurns: 0 })!.open.state;
  test.each([
    ["after a turn", [], true],
    ["after a mark that is no boundary", [mark("p", 5, "phase")], true],
    ["not after a boundary without its turn", [mark("m", 5, "masked")], false],
    ["not after a report without its level", [report("r", 5, "budget", true, 9_999)], false],
  ])("%s", (_, marks, allowed) => {
    expect(mayCut(state(marks))).toBe(allowed);
  });
});
