import { describe, expect, test } from "vitest";
import { EMPTY_STATE } from "./agent-state.ts";
import { extendAgent, foldAgent } from "./fold.ts";
import { mark, OPTIONS, report, turn } from "./testing/agent-history.ts";

/** Turns of the given levels, a second apart. */
const climb = (...levels: (number | undefined)[]) =>
  levels.map((tokens, index) => turn(`t${index}`, index, tokens));

describe("current", () => {
  test("is the latest in order, not in arrival", () => {
    const late = [
      turn("t2", 20, 300, { seq: 2 }),
      turn("t3", 30, 400, { seq: 3 }),
      turn("t1", 10, 200, { seq: 1 }),
    ];
    expect(foldAgent(late, [], OPTIONS).state).toMatchObject({ current: 400, currentAt: 30 });
  });
  test("goes by sequence when clocks disagree", () => {
    const skewed = [turn("t1", 99, 200, { seq: 1 }), turn("t2", 10, 300, { seq: 2 })];
    expect(foldAgent(skewed, [], OPTIONS).state.current).toBe(300);
  });
  test("stays with the latest counted turn, and says how many were not counted since", () => {
    expect(foldAgent(climb(200, undefined, undefined), [], OPTIONS).state).toMatchObject({
      current: 200,
      uncounted: 2,
    });
    expect(foldAgent(climb(200, undefined, 300), [], OPTIONS).state).toMatchObject({
      current: 300,
      uncounted: 0,
    });
  });
  test("is unknown, never zero, while nothing was counted", () => {
    const { state } = foldAgent(climb(undefined), [], OPTIONS);
    expect(state).toMatchObject({ turns: 1, uncounted: 1, current: undefined, peak: undefined });
  });
  test("and peak are not moved by a turn that compacts", () => {
    const turns = [turn("t1", 1, 300), turn("t2", 2, 900, { compaction: true }), turn("t3", 3, 320)];
    const { state, inferred } = foldAgent(turns, [], OPTIONS);
    expect(state).toMatchObject({ turns: 3, current: 320, peak: { tokens: 320 } });
    expect(inferred.size).toBe(0);
  });
});

describe("peak", () => {
  test("is never lowered by what comes after", () => {
    const { state } = foldAgent(climb(200, 900, 100), [mark("m", 1, "compacted")], OPTIONS);
    expect(state.peak).toMatchObject({ tokens: 900, at: 1 });
  });
  test("names the first turn that reached it", () => {
    expect(foldAgent(climb(900, 900), [], OPTIONS).state.peak).toMatchObject({ at: 0 });
  });
  test("and size of a window are not those of the model that compacts it", () => {
    const compacting = turn("t1", 1, 900, { model: "large", compaction: true });
    const { windows } = foldAgent([turn("t0", 0, 800), compacting], [], OPTIONS);
    expect(windows.get(0)).toMatchObject({ turns: 2, peakTokens: 800, windowTokens: 1_000 });
  });
  test("of the agent outlives its window; each window keeps its own", () => {
    const { state, windows } = foldAgent(climb(200, 900, 100, 150), [mark("r", 1, "restarted")], OPTIONS);
    expect(state.peak?.tokens).toBe(900);
    expect(windows.get(0)).toMatchObject({ turns: 2, peakTokens: 900, lastTokens: 900 });
    expect(windows.get(1)).toMatchObject({ turns: 2, firstTokens: 100, peakTokens: 150 });
  });
  test("over 100 % is kept as it is", () => {
    const { state, turns } = foldAgent(climb(4_020), [], OPTIONS);
    expect(turns[0]?.utilization).toBe(4.02);
    expect(state).toMatchObject({ peakUtilization: 4.02, windowTokens: 1_000 });
  });
});

test("a sub-agent is a fold of its own: its turns never reach its parent's", () => {
  const parent = foldAgent(climb(141, 144), [], OPTIONS);
  const child = foldAgent([turn("t0", 1, 900), turn("t1", 2, 950)], [], OPTIONS);
  expect(parent.state).toMatchObject({ current: 144, peak: { tokens: 144 } });
  expect(child.state).toMatchObject({ current: 950, peak: { tokens: 950 } });
  expect(EMPTY_STATE).toMatchObject({ turns: 0, recent: [], pending: [], reported: [] });
});

describe("a fall", () => {
  const large = (key: string, at: number, input: number, rest = {}) =>
    turn(key, at, input, { model: "large", ...rest });

  test("is explained by the boundary before it, which learns both levels", () => {
    const { marks, inferred } = foldAgent(
      [large("t1", 1, 3_000), large("t2", 3, 900)],
      [mark("m", 2, "masked")],
      OPTIONS,
    );
    expect(marks.get("m")).toMatchObject({ tokensBefore: 3_000, tokensAfter: 900 });
    expect(inferred.size).toBe(0);
  });
  test("keeps what the boundary itself said", () => {
    const said = mark("m", 2, "compacted", { tokensBefore: 3_100, tokensAfter: 800 });
    const { marks } = foldAgent([large("t1", 1, 3_000), large("t2", 3, 900)], [said], OPTIONS);
    expect(marks.get("m")).toMatchObject({ tokensBefore: 3_100, tokensAfter: 800 });
  });
  test("waits for the next counted turn", () => {
    const turns = [large("t1", 1, 3_000), turn("t2", 3, undefined, { model: "large" }), large("t3", 4, 900)];
    expect(foldAgent(turns, [mark("m", 2, "masked")], OPTIONS).marks.get("m")?.tokensAfter).toBe(900);
  });
  test("that nobody explains is said to be unexplained", () => {
    const { inferred } = foldAgent([large("t1", 1, 3_000), large("t2", 2, 1_500)], [], OPTIONS);
    expect([...inferred.values()]).toEqual([
      {
        id: "inferred/t2",
        type: "unexplained",
        at: 2,
        window: 0,
        tokensBefore: 3_000,
        tokensAfter: 1_500,
        hint: undefined,
      },
    ]);
  });
  test("to half the window and two is taken for Ollama's silent truncation", () => {
    const { inferred } = foldAgent([large("t1", 1, 3_990), large("t2", 2, 2_002)], [], OPTIONS);
    expect(inferred.get("inferred/t2")?.hint).toBe("truncation_suspected");
  });
  test("with another model is put down to the model", () => {
    const { inferred } = foldAgent([large("t1", 1, 3_000), turn("t2", 2, 900)], [], OPTIONS);
    expect(inferred.get("inferred/t2")?.hint).toBe("model_changed");
  });
  test("of a few tokens is no fall", () => {
    expect(foldAgent([large("t1", 1, 3_000), large("t2", 2, 2_750)], [], OPTIONS).inferred.size).toBe(0);
    expect(foldAgent([large("t1", 1, 400), large("t2", 2, 200)], [], OPTIONS).inferred.size).toBe(0);
  });
  test("is not seen between an estimate and a measured level, only between two of a kind", () => {
    const guessed = { estimated: true };
    expect(
      foldAgent([large("t1", 1, 3_000), large("t2", 2, 1_900, guessed)], [], OPTIONS).inferred.size,
    ).toBe(0);
    expect(
      foldAgent([large("t1", 1, 3_000, guessed), large("t2", 2, 1_900)], [], OPTIONS).inferred.size,
    ).toBe(0);
    expect(
      foldAgent([large("t1", 1, 3_000, guessed), large("t2", 2, 1_900, guessed)], [], OPTIONS).inferred.size,
    ).toBe(1);
  });
  test("of the window index without a word is an inferred restart", () => {
    const turns = [large("t1", 1, 3_000, { sentWindow: 0 }), large("t2", 2, 2_900, { sentWindow: 1 })];
    expect(foldAgent(turns, [], OPTIONS).inferred.get("inferred/t2")).toMatchObject({
      type: "restarted",
      hint: "window_moved",
    });
  });
});

describe("windows without an index", () => {
  test("are counted from restarts", () => {
    const marks = [mark("r1", 1.5, "restarted"), mark("r2", 3.5, "subtick")];
    const { turns, state } = foldAgent(climb(100, 200, 100, 200, 100), marks, OPTIONS);
    expect(turns.map((reading) => reading.window)).toEqual([0, 0, 1, 1, 2]);
    expect(state.windows).toBe(3);
  });
  test("a late restart moves the turns after it into the window they belong to", () => {
    const turns = climb(100, 200, 100);
    const state = foldAgent(turns, [], OPTIONS).state;
    const late = mark("r", 1.5, "restarted");
    expect(extendAgent(state, [], [late], OPTIONS)).toBeUndefined();
    expect(foldAgent(turns, [late], OPTIONS).turns.map((reading) => reading.window)).toEqual([0, 0, 1]);
  });
});

describe("a window size that was reported once", () => {
  const sized = turn("t1", 1, 100, { model: "own", sentLimit: 5_000 });

  test("carries forward for the same model", () => {
    const { turns } = foldAgent([sized, turn("t2", 2, 200, { model: "own" })], [], OPTIONS);
    expect(turns[1]).toMatchObject({ windowTokens: 5_000, windowSource: "reported" });
  });
  test("does not carry over to another model", () => {
    const { turns } = foldAgent(
      [sized, turn("t2", 2, 200), turn("t3", 3, 200, { model: "nobody-knows" })],
      [],
      OPTIONS,
    );
    expect(turns[1]).toMatchObject({ windowTokens: 1_000, windowSource: "catalog" });
    expect(turns[2]).toMatchObject({
      windowTokens: undefined,
      windowSource: "unknown",
      utilization: undefined,
    });
  });
  test("is known again when its model comes back, whatever another model reported meanwhile", () => {
    const other = turn("t2", 2, 900, { model: "compactor", sentLimit: 200, compaction: true });
    const { turns } = foldAgent([sized, other, turn("t3", 3, 300, { model: "own" })], [], OPTIONS);
    expect(turns[2]).toMatchObject({ windowTokens: 5_000, windowSource: "reported" });
  });
  test("does not reach back to turns before it", () => {
    const { turns } = foldAgent([turn("t0", 0, 50, { model: "own" }), sized], [], OPTIONS);
    expect(turns[0]).toMatchObject({ windowTokens: undefined, windowSource: "unknown" });
  });
});

describe("crossings", () => {
  test("reported and derived for one turn are one", () => {
    const { crossings } = foldAgent(climb(100, 160), [report("r", 1, "warning", true, 160)], OPTIONS);
    expect(crossings.map(({ id, origin }) => [id, origin])).toEqual([["warning/up/t1", "both"]]);
  });
  test("reported before the turn itself arrives are still one", () => {
    const first = foldAgent([turn("t0", 0, 100)], [report("r", 1, "warning", true, 160)], OPTIONS);
    const now = [turn("t1", 2, 160)];
    expect(extendAgent(first.state, now, [], OPTIONS)).toBeUndefined();
    const { crossings } = foldAgent(
      [turn("t0", 0, 100), ...now],
      [report("r", 1, "warning", true, 160)],
      OPTIONS,
    );
    expect(crossings.map(({ id, origin }) => [id, origin])).toEqual([["warning/up/t1", "both"]]);
  });
  test("after a report cost no reading of history unless they may be its own", () => {
    const first = foldAgent(climb(100, 160), [report("r", 1, "warning", true, 160)], OPTIONS);
    expect(extendAgent(first.state, [turn("t2", 2, 165)], [], OPTIONS)).toBeUndefined();
    const settled = foldAgent(climb(100, 160, 165), [report("r", 1, "warning", true, 160)], OPTIONS);
    expect(extendAgent(settled.state, [turn("t3", 3, 168)], [], OPTIONS)).toBeDefined();
  });
  test("go up again in a new window", () => {
    const { crossings } = foldAgent(climb(160, 50, 160), [mark("r", 0, "restarted")], OPTIONS);
    expect(crossings.map((crossing) => crossing.id)).toEqual([
      "warning/up/t0",
      "warning/down/t1",
      "warning/up/t2",
    ]);
  });
});

describe("the forecast's levels", () => {
  test("begin anew after a fall", () => {
    expect(foldAgent(climb(100, 200, 300, 50, 60), [mark("m", 2, "masked")], OPTIONS).state.recent).toEqual([
      50, 60,
    ]);
  });
  test("are the latest twelve", () => {
    const levels = Array.from({ length: 20 }, (_, index) => index * 10);
    expect(foldAgent(climb(...levels), [], OPTIONS).state.recent).toEqual(levels.slice(-12));
  });
});
