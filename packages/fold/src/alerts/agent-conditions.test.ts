import type { AgentCondition } from "@plimsoll/protocol/alerts";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { foldAgent } from "../history/fold.ts";
import { mark, OPTIONS, turn } from "../history/testing/agent-history.ts";
import { type AgentSight, isNews, leastTurnsAfterBoundary, type SeenBoundary } from "./agent-sight.ts";
import { agentConditionKind } from "./conditions/index.ts";

const NOW = 10_000_000;
const SIGHT: AgentSight = {
  at: NOW - 1_000,
  receivedAt: NOW - 500,
  window: 0,
  contextTokens: 80,
  windowTokens: 200,
  windowSource: "reported",
  line: { threshold: "ceiling", tokens: 100 },
  above: ["warning"],
  recent: [40, 60, 80],
  msPerTurn: 60_000,
  boundaries: [],
  turnTimes: [],
  caches: [],
  lineKeeper: "harness",
};
/** Its harness has no line, so the end of the window is one. */
const WINDOW_END: Partial<AgentSight> = { line: { threshold: "hard", tokens: 200 }, lineKeeper: "nobody" };
const holds = (condition: AgentCondition, more: Partial<AgentSight> = {}, held = false) =>
  agentConditionKind(condition).find(condition, { ...SIGHT, ...more }, held, NOW).holds;

const boundary = (id: number, more: Partial<SeenBoundary> = {}): SeenBoundary => ({
  id: `b${id}`,
  type: "compacted",
  at: NOW - id * 1_000,
  receivedAt: NOW - id * 1_000,
  tokensBefore: 90,
  tokensAfter: 30,
  hint: undefined,
  number: undefined,
  ...more,
});

describe("a condition about an agent", () => {
  it("reads thresholds from recorded crossings alone", () => {
    expect(holds({ type: "threshold", threshold: "warning" })).toBe(true);
    expect(holds({ type: "threshold", threshold: "line" })).toBe(false);
    expect(holds({ type: "threshold", threshold: "line" }, { above: ["ceiling"], contextTokens: 1 })).toBe(
      true,
    );
    expect(holds({ type: "threshold", threshold: "line" }, { line: undefined })).toBe(false);
  });

  it("compares levels, with the hysteresis of crossings", () => {
    const load = { type: "load", at_least: 0.9, turns: 1 } as const;
    expect([89, 90].map((contextTokens) => holds(load, { contextTokens }))).toEqual([false, true]);
    expect([85, 86].map((contextTokens) => holds(load, { contextTokens }, true))).toEqual([false, true]);
    expect(holds({ type: "utilization", at_least: 0.4, turns: 1 })).toBe(true);
    expect(holds({ type: "utilization", at_least: 0.4, turns: 1 }, { windowTokens: undefined })).toBe(false);
    expect(holds({ type: "tokens", at_least: 81, turns: 1 })).toBe(false);
  });

  it("waits for as many turns at the level", () => {
    const tokens = { type: "tokens", at_least: 60, turns: 2 } as const;
    expect(holds(tokens)).toBe(true);
    expect(holds({ ...tokens, turns: 3 })).toBe(false);
    expect(holds({ ...tokens, turns: 4 }, { recent: [80, 80] })).toBe(false);
    expect(holds({ ...tokens, turns: 4 }, { recent: [80] }, true)).toBe(true);
  });

  // The line is at 100 of 200 tokens, so half of the room above it is used at 150.
  it.each<[string, Partial<AgentSight>, boolean]>([
    ["crosses its line", { recent: [90, 110] }, false],
    ["is past it for as many turns as its harness may take", { recent: [90, 110, 120, 130] }, false],
    ["is past it for one turn more", { recent: [90, 110, 115, 120, 125] }, true],
    ["is seen past it for the first time", { recent: [105, 110] }, false],
    ["uses half of the room at once", { recent: [90, 160], contextTokens: 160 }, false],
    ["uses half of the room and goes on", { recent: [90, 155, 160], contextTokens: 160 }, true],
    ["has a line that nobody keeps", { recent: [90, 110], lineKeeper: "nobody" }, true],
    ["nears the end of its window without a line", { ...WINDOW_END, recent: [180] }, false],
    ["is at the end of its window without a line", { ...WINDOW_END, recent: [191] }, true],
    [
      "has more than its window, so that its line is wrong, too",
      { recent: [90, 205, 210, 215, 220, 225] },
      false,
    ],
    [
      "is past a line of its own in such a window",
      { line: { threshold: "ceiling", tokens: 210 }, recent: [215] },
      true,
    ],
    ["has no line", { line: undefined, recent: [500] }, false],
  ])("knows whether an agent is in danger that %s", (_, more, fires) => {
    const at = { contextTokens: more.recent?.at(-1), ...more };
    expect(holds({ type: "past_line", turns: 3 }, at)).toBe(fires);
    // It ends once the level is below the line, not earlier.
    expect(holds({ type: "past_line", turns: 3 }, { ...at, recent: [...at.recent!, 60] }, true)).toBe(false);
    if (fires) expect(holds({ type: "past_line", turns: 3 }, at, true)).toBe(true);
  });

  it("forecasts in turns and in minutes", () => {
    const recent = [20, 40, 60, 80];
    expect(holds({ type: "forecast", turns_below: 2 }, { recent })).toBe(true);
    expect(holds({ type: "forecast", turns_below: 1 }, { recent })).toBe(false);
    expect(holds({ type: "forecast", minutes_below: 1.5 }, { recent })).toBe(true);
    expect(holds({ type: "forecast", minutes_below: 1.5 }, { recent, msPerTurn: undefined })).toBe(false);
    expect(holds({ type: "forecast", turns_below: 1 }, { recent: [120] })).toBe(true);
  });

  it("finds suspect and unknown windows", () => {
    expect(holds({ type: "window_suspect" }, { contextTokens: 201 })).toBe(true);
    expect(holds({ type: "window_suspect" })).toBe(false);
    expect(holds({ type: "window_unknown" }, { windowTokens: undefined })).toBe(true);
    expect(holds({ type: "window_unknown" })).toBe(false);
  });

  it("finds falls by what they say, while they are recent", () => {
    const fall = boundary(1, { type: "unexplained" });
    expect(holds({ type: "unexplained_fall" }, { boundaries: [fall] })).toBe(true);
    expect(
      holds({ type: "unexplained_fall" }, { boundaries: [{ ...fall, receivedAt: NOW - 600_000 }] }),
    ).toBe(false);
    expect(holds({ type: "truncation_suspected" }, { boundaries: [fall] })).toBe(false);
    const cut = { ...fall, hint: "truncation_suspected" as const };
    expect(holds({ type: "truncation_suspected" }, { boundaries: [cut] })).toBe(true);
    expect(holds({ type: "small_reclaim", below_tokens: 61 }, { boundaries: [boundary(1)] })).toBe(true);
    expect(holds({ type: "small_reclaim", below_tokens: 60 }, { boundaries: [boundary(1)] })).toBe(false);
    const restart = boundary(1, { type: "restarted", number: 3 });
    expect(holds({ type: "restart_limit", at_least: 3 }, { boundaries: [restart] })).toBe(true);
    expect(holds({ type: "restart_limit", at_least: 4 }, { boundaries: [restart] })).toBe(false);
  });

  it("counts boundaries by turns and by the hour", () => {
    const boundaries = [boundary(1), boundary(3), boundary(5)];
    const turnTimes = [0.5, 2, 4, 6].map((seconds) => NOW - seconds * 1_000);
    expect(holds({ type: "thrash", boundaries: 3, within_turns: 3 }, { boundaries, turnTimes })).toBe(true);
    expect(holds({ type: "thrash", boundaries: 3, within_turns: 2 }, { boundaries, turnTimes })).toBe(false);
    expect(holds({ type: "thrash", boundaries: 4, within_turns: 99 }, { boundaries, turnTimes })).toBe(false);
    const ticks = [1, 3_000, 3_601].map((seconds) => boundary(seconds, { type: "subtick" }));
    const rate = { type: "boundaries_per_hour", boundary: "subtick" } as const;
    expect(holds({ ...rate, at_least: 2 }, { boundaries: ticks })).toBe(true);
    expect(holds({ ...rate, at_least: 3 }, { boundaries: ticks })).toBe(false);
  });

  it("adds up the caches that were lost in the latest turns", () => {
    const lost = (tokens: number) => ({ share: undefined, lost: tokens });
    const caches = [lost(0), lost(60), lost(0), lost(40)];
    const condition = { type: "cache_lost", at_least: 100, turns: 4 } as const;
    expect(holds(condition, { caches })).toBe(true);
    expect(holds({ ...condition, turns: 3 }, { caches })).toBe(false);
    expect(holds({ ...condition, at_least: 101 }, { caches })).toBe(false);
    expect(holds(condition)).toBe(false);
  });

  it("knows news from history", () => {
    expect(isNews({ at: 0, receivedAt: 900_000 })).toBe(true);
    expect(isNews({ at: 0, receivedAt: 900_001 })).toBe(false);
    // A sender whose clock is ahead.
    expect(isNews({ at: 60_000, receivedAt: 0 })).toBe(true);
  });
});

describe("leastTurnsAfterBoundary", () => {
  const step = fc.constantFrom("turn", "uncounted", "compaction", "fall", "compacted", "subtick");

  it("is never more than the turns that the history has after it", () => {
    const property = fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const turns = steps.flatMap((kind, n) => {
        if (kind === "compacted" || kind === "subtick") return [];
        const tokens = kind === "uncounted" ? undefined : kind === "fall" ? 1 : 100_000 + n * 1_000;
        return [turn(`t${n}`, n, tokens, { compaction: kind === "compaction" })];
      });
      const marks = steps.flatMap((kind, n) =>
        kind === "compacted" || kind === "subtick" ? [mark(`m${n}`, n, kind)] : [],
      );
      const { state, marks: reported, inferred } = foldAgent(turns, marks, OPTIONS);
      const newest = Math.max(...[...reported.values(), ...inferred.values()].map(({ at }) => at));
      const boundaries = Number.isFinite(newest) ? [boundary(0, { at: newest })] : [];
      const after = turns.filter(({ at, compaction }) => !compaction && at > newest).length;
      const { currentAt: at = 0, recent } = state;
      expect(leastTurnsAfterBoundary({ at, recent, boundaries })).toBeLessThanOrEqual(after);
      const last = steps.lastIndexOf("compacted");
      const rest = steps.slice(last + 1);
      if (last >= 0 && rest.length > 1 && rest.every((kind) => kind === "turn"))
        expect(leastTurnsAfterBoundary({ at, recent, boundaries })).toBe(Math.min(12, rest.length) - 1);
    });
    fc.assert(property, { numRuns: 1_000 });
  });
});
