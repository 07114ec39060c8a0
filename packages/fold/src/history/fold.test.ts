import { describe, expect, test } from "vitest";
import { EMPTY_STATE } from "./agent-state.ts";
import { extendAgent, type FoldResult, foldAgent } from "./fold.ts";
import type { MarkFacts } from "./mark.ts";
import { foldStored, joinResults, mark, OPTIONS, report, stored, turn } from "./testing/agent-history.ts";

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
    const { state, summary } = foldAgent(climb(undefined), [], OPTIONS);
    expect(state).toMatchObject({ uncounted: 1, current: undefined });
    expect(summary).toMatchObject({ turns: 1, peak: undefined });
  });
  test("and peak are not moved by a turn that compacts", () => {
    const turns = [turn("t1", 1, 300), turn("t2", 2, 900, { compaction: true }), turn("t3", 3, 320)];
    const { state, summary, inferred } = foldAgent(turns, [], OPTIONS);
    expect(state.current).toBe(320);
    expect(summary).toMatchObject({ turns: 3, peak: { tokens: 320 } });
    expect(inferred.size).toBe(0);
  });
});

describe("peak", () => {
  test("is never lowered by what comes after", () => {
    const { summary } = foldAgent(climb(200, 900, 100), [mark("m", 1, "compacted")], OPTIONS);
    expect(summary.peak).toMatchObject({ tokens: 900, at: 1 });
  });
  test("names the first turn that reached it", () => {
    expect(foldAgent(climb(900, 900), [], OPTIONS).summary.peak).toMatchObject({ at: 0 });
  });
  test("and size of a window are not those of the model that compacts it", () => {
    const compacting = turn("t1", 1, 900, { model: "large", compaction: true });
    const { summary } = foldAgent([turn("t0", 0, 800), compacting], [], OPTIONS);
    expect(summary.windows).toMatchObject([{ index: 0, turns: 2, peakTokens: 800, windowTokens: 1_000 }]);
  });
  test("of the agent outlives its window; each window keeps its own", () => {
    const { summary } = foldAgent(climb(200, 900, 100, 150), [mark("r", 1, "restarted")], OPTIONS);
    expect(summary.peak?.tokens).toBe(900);
    expect(summary.windows).toMatchObject([
      { index: 0, turns: 2, peakTokens: 900, lastTokens: 900 },
      { index: 1, turns: 2, firstTokens: 100, peakTokens: 150 },
    ]);
  });
  test("over 100 % is kept as it is", () => {
    const { state, summary, turns } = foldAgent(climb(4_020), [], OPTIONS);
    expect(turns[0]?.utilization).toBe(4.02);
    expect(summary.peakUtilization).toBe(4.02);
    expect(state.windowTokens).toBe(1_000);
  });
});

test("two folds share nothing: a sub-agent's turns never reach its parent", () => {
  const parent = foldAgent(climb(141, 144), [], OPTIONS);
  const child = foldAgent([turn("t0", 1, 900), turn("t1", 2, 950)], [], OPTIONS);
  expect([parent.state.current, parent.summary.peak?.tokens]).toEqual([144, 144]);
  expect([child.state.current, child.summary.peak?.tokens]).toEqual([950, 950]);
  expect(EMPTY_STATE).toMatchObject({ recent: [], pending: [], reported: [], levels: [], unmatched: [] });
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
        fall: { turns: 1, refill: undefined, model: "large", read: undefined, summary: undefined },
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

describe("a compaction that is reported more than once", () => {
  const around = [turn("t1", 0, 900), turn("t2", 30_000, 200)];
  const read = (...marks: MarkFacts[]) => {
    const folded = foldAgent(around, marks, OPTIONS);
    expect(folded.inferred.size).toBe(0);
    return [...folded.marks.values()].map(({ id, type, tokensBefore, tokensAfter }) => [
      id,
      type,
      tokensBefore,
      tokensAfter,
    ]);
  };

  test("is one boundary with the numbers of any report", () => {
    const log = mark("log", 1_200, "compacted", { tokensBefore: 950 });
    const transcript = mark("transcript", 3_000, "compacted", { tokensBefore: 950, tokensAfter: 150 });
    expect(read(mark("hook", 1_000, "compacted"), log, transcript)).toEqual([
      ["hook", "compacted", 950, 150],
      ["log", "repeated", 950, undefined],
      ["transcript", "repeated", 950, 150],
    ]);
  });
  test("takes what nobody stated from the turns around it", () => {
    expect(read(mark("a", 1_000, "compacted"), mark("b", 1_001, "compacted"))).toEqual([
      ["a", "compacted", 900, 200],
      ["b", "repeated", undefined, undefined],
    ]);
  });
  test("is found behind another boundary", () => {
    const marks = [mark("a", 1, "compacted"), mark("b", 2, "masked"), mark("c", 3, "compacted")];
    expect(read(...marks).map(([, type]) => type)).toEqual(["compacted", "masked", "repeated"]);
  });
  test.each([
    ["of other numbers before", { tokensBefore: 800 }, 2_000],
    ["of other numbers after", { tokensBefore: 900, tokensAfter: 50 }, 2_000],
    ["much later", {}, 11_001],
    ["of another window", { sentWindow: 1 }, 2_000],
  ])("is two if one is %s", (_, numbers, at) => {
    const first = mark("a", 1_000, "compacted", { tokensBefore: 900, tokensAfter: 100 });
    expect(read(first, mark("b", at, "compacted", numbers)).map(([, type]) => type)).toEqual([
      "compacted",
      "compacted",
    ]);
  });
  test("is another one after a turn", () => {
    const turns = [...around, turn("t3", 30_002, 190)];
    const marks = [mark("a", 29_999, "compacted"), mark("b", 30_001, "compacted")];
    const folded = foldAgent(turns, marks, OPTIONS);
    expect([...folded.marks.values()].map(({ type }) => type)).toEqual(["compacted", "compacted"]);
  });
  test("settles in the state as well, in any batches", () => {
    const hook = mark("hook", 1_000, "compacted");
    const log = mark("log", 1_200, "compacted", { tokensBefore: 950 });
    let kept = foldAgent(around.slice(0, 1), [hook], OPTIONS);
    kept = joinResults(kept, extendAgent(kept.state, [], [log], OPTIONS)!);
    expect(kept.state.pending).toMatchObject([{ id: "hook", tokensBefore: 950, statesBefore: true }]);
    kept = joinResults(kept, extendAgent(kept.state, around.slice(1), [], OPTIONS)!);
    expect(stored(kept)).toEqual(foldStored(around, [hook, log]));
  });
  test("settles in the state as well once nothing waits any more, so that it does not matter since when", () => {
    const signs = Array.from({ length: 509 }, (_, n) => mark(`phase-${n}`, n + 1, "phase"));
    const marks = [
      mark("first", 0, "compacted"),
      ...signs,
      mark("before-1", 600, "compacted", { tokensBefore: 1 }),
      mark("before-2", 601, "compacted", { tokensBefore: 2 }),
      ...Array.from({ length: 20 }, (_, n) => mark(`later-${n}`, 602 + n, "phase")),
    ];
    // `more` late signs move the end of the wait before, between and behind the two reports.
    const states = [0, 1, 2, 3, 4].map((more) => {
      const late = Array.from({ length: more }, (_, n) => mark(`late-${n}`, 1, "phase"));
      const { state, marks: readings } = foldAgent([], [...marks, ...late], OPTIONS);
      expect(readings.get("first")).toMatchObject({
        type: "compacted",
        tokensBefore: more < 2 ? 1 : undefined,
      });
      expect(readings.get("before-1")?.type).toBe("repeated");
      expect(readings.get("before-2")?.type).toBe("compacted");
      return state;
    });
    expect(states[0]!.pending).toMatchObject([{ id: "first", tokensBefore: 1 }, { id: "before-2" }]);
    for (const state of states) expect(state).toEqual(states[0]);
  });
});

describe("windows without an index", () => {
  test("are counted from restarts", () => {
    const marks = [mark("r1", 1.5, "restarted"), mark("r2", 3.5, "subtick")];
    const { turns, summary } = foldAgent(climb(100, 200, 100, 200, 100), marks, OPTIONS);
    expect(turns.map((reading) => reading.window)).toEqual([0, 0, 1, 1, 2]);
    expect(summary.windows.map(({ index }) => index)).toEqual([0, 1, 2]);
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

describe("a reported window size that a prompt exceeds", () => {
  const configured = { ...OPTIONS, lookups: { ...OPTIONS.lookups, configured: () => 9_000 } };
  const at = (n: number, tokens: number, more = {}) =>
    turn(`t${n}`, n, tokens, { model: "own", sentLimit: 5_000, ...more });

  test("is replaced by a larger one that a person set, from that turn on", () => {
    const turns = [at(0, 4_000), at(1, 6_000), at(2, 1_000), at(3, 1_000, { sentLimit: undefined })];
    const { turns: read } = foldAgent(turns, [], configured);
    expect(read.map(({ windowTokens, windowSource }) => [windowTokens, windowSource])).toEqual([
      [5_000, "reported"],
      [9_000, "configured"],
      [9_000, "configured"],
      [9_000, "configured"],
    ]);
    expect(foldAgent(turns, [], OPTIONS).turns[1]).toMatchObject({ windowTokens: 5_000, utilization: 1.2 });
  });
  test("counts again once the harness reports another one", () => {
    const { turns } = foldAgent([at(0, 6_000), at(1, 6_000, { sentLimit: 8_000 })], [], configured);
    expect(turns[1]).toMatchObject({ windowTokens: 8_000, windowSource: "reported" });
  });
  test("is not refuted by an estimate or by another model", () => {
    const { turns } = foldAgent(
      [at(0, 6_000, { estimated: true }), turn("t1", 1, 7_000, { model: "other" }), at(2, 100)],
      [],
      configured,
    );
    expect(turns[2]).toMatchObject({ windowTokens: 5_000, windowSource: "reported" });
  });
});

describe("crossings", () => {
  const origins = ({ crossings }: FoldResult) =>
    [...crossings.values()].map(({ id, origin }) => [id, origin]);

  test("reported and derived for one turn are one", () => {
    const folded = foldAgent(climb(100, 160), [report("r", 1, "warning", true, 160)], OPTIONS);
    expect(origins(folded)).toEqual([["warning/up/t1", "both"]]);
  });
  test("reported before their turn arrives move to it without another fold", () => {
    const first = foldAgent([turn("t0", 0, 100)], [report("r", 1, "warning", true, 160)], OPTIONS);
    expect(origins(first)).toEqual([["warning/up/t0", "reported"]]);
    const next = extendAgent(first.state, [turn("t1", 2, 160)], [], OPTIONS);
    expect(next && [...next.withdrawn.keys()]).toEqual(["warning/up/t0"]);
    expect(next && origins(next)).toEqual([["warning/up/t1", "both"]]);
  });
  test("of a later report change the origin of the stored crossing", () => {
    const first = foldAgent(climb(100, 160), [], OPTIONS);
    const next = extendAgent(first.state, [], [report("r", 2, "warning", true, 160)], OPTIONS);
    expect(next && [...next.origins]).toEqual([["warning/up/t1", "both"]]);
    expect(next?.crossings.size).toBe(0);
  });
  test("of any number of reports in order never need another fold", () => {
    let { state } = foldAgent(climb(100), [], OPTIONS);
    for (let n = 1; n <= 50; n++) {
      const reported = [report(`r${n}`, n, n % 2 === 0 ? "warning" : "budget", n % 3 === 0, 100 + n)];
      const next = extendAgent(state, [turn(`t${n}`, n, 100 + n)], reported, OPTIONS);
      expect(next).toBeDefined();
      state = next!.state;
      expect(state.levels.length).toBeLessThanOrEqual(3);
      expect(state.unmatched).toHaveLength(0);
    }
  });
  test("go up again in a new window", () => {
    const { crossings } = foldAgent(climb(160, 50, 160), [mark("r", 0, "restarted")], OPTIONS);
    expect([...crossings.keys()]).toEqual(["warning/up/t0", "warning/down/t1", "warning/up/t2"]);
  });
});

describe("turns with and without a sequence number in one window", () => {
  const numbered = (key: string, at: number, seq: number) => turn(key, at, 100 + at, { seq });
  const before = foldAgent([numbered("a", 1, 1), numbered("b", 3, 2)], [], OPTIONS).state;
  const mixed = foldAgent([numbered("a", 1, 1), turn("x", 2, 102)], [], OPTIONS).state;

  test.each([
    ["an unnumbered turn after all others extends", before, turn("x", 4, 104), true],
    ["a numbered turn after all others extends", before, numbered("c", 4, 3), true],
    ["a numbered turn later than every unnumbered one extends", mixed, numbered("c", 3, 2), true],
    ["an unnumbered turn earlier than a numbered one folds again", before, turn("x", 2, 102), false],
    ["a lower number folds again", before, numbered("c", 4, 1), false],
    ["a numbered turn no later than an unnumbered one folds again", mixed, numbered("c", 2, 2), false],
  ])("%s", (_, state, late, extends_) => {
    expect(extendAgent(state, [late], [], OPTIONS) !== undefined).toBe(extends_);
  });
  test("extend one by one to the result of one fold", () => {
    const turns = Array.from({ length: 60 }, (_, n) =>
      n % 7 === 3 ? turn(`t${n}`, n, 100 + n) : numbered(`t${n}`, n, n),
    );
    let kept = foldAgent(turns.slice(0, 1), [], OPTIONS);
    for (const next of turns.slice(1)) {
      const step = extendAgent(kept.state, [next], [], OPTIONS);
      expect(step, next.key).toBeDefined();
      kept = joinResults(kept, step!);
    }
    expect(stored(kept)).toEqual(foldStored(turns, []));
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
