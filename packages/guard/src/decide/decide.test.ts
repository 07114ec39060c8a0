import { describe, expect, it } from "vitest";
import { resolvePolicy } from "../policy/policy.ts";
import { decide, type Facts, limitsOf } from "./decide.ts";

const policy = resolvePolicy({
  thresholds: { warning: "15%", ceiling: "50%", soft: "40%", hard: "90%" },
  restart: { graceTurns: 2, max: 2 },
});
const limits = limitsOf(policy.thresholds, 10_000);
const facts = (over: Partial<Facts>): Facts => ({
  level: 0,
  roomTokens: 10_000,
  uncertainty: 0,
  unread: { tokens: 0, least: 0 },
  limits,
  maskGain: 0,
  urgentGain: 0,
  compactGain: 0,
  windDownTurns: undefined,
  restartGain: 5_000,
  cutGain: 0,
  restarts: 0,
  turnsSinceAction: undefined,
  weakActions: 0,
  growth: 0,
  ...over,
});

describe("decide", () => {
  it.each<[string, Partial<Facts>, object]>([
    ["rests below every line", { level: 3_999, maskGain: 5_000 }, { type: "rest", status: "clear" }],
    [
      "masks at the soft line [O13]",
      { level: 4_000, maskGain: 1_500 },
      { type: "mask", target: 3_400, urgent: false },
    ],
    [
      "masks further down where the context grows fast",
      { level: 4_000, maskGain: 1_500, growth: 100 },
      { type: "mask", target: 1_500, urgent: false },
    ],
    [
      "never masks down to less than a fraction of the line",
      { level: 4_000, maskGain: 1_500, growth: 1_000 },
      { type: "mask", target: 1_200, urgent: false },
    ],
    [
      "waits some turns after an action",
      { level: 6_000, maskGain: 1_500, compactGain: 5_000, turnsSinceAction: 4 },
      { type: "rest", status: "pacing" },
    ],
    [
      "acts again after these turns",
      { level: 4_000, maskGain: 1_500, turnsSinceAction: 5 },
      { type: "mask", urgent: false },
    ],
    [
      "does not wait at the hard line",
      { level: 9_000, maskGain: 1_500, turnsSinceAction: 0 },
      { type: "mask", urgent: false },
    ],
    [
      "does not ask for a third summary after two that saved too little",
      { level: 5_000, compactGain: 900, weakActions: 2 },
      { type: "rest", status: "exhausted" },
    ],
    [
      "asks for one that can save twice as much",
      { level: 5_000, compactGain: 1_000, weakActions: 2 },
      { type: "compact", line: 5_000 },
    ],
    [
      "does not mask a batch that saves too little",
      { level: 4_000, maskGain: 100 },
      { type: "rest", status: "exhausted" },
    ],
    ["masks before compacting", { level: 6_000, maskGain: 1_500, compactGain: 5_000 }, { type: "mask" }],
    ["compacts at the ceiling", { level: 5_000, compactGain: 2_000 }, { type: "compact", line: 5_000 }],
    [
      "does not compact below the ceiling",
      { level: 4_999, compactGain: 2_000 },
      { type: "rest", status: "exhausted" },
    ],
    ["winds down at the hard line [O13]", { level: 9_000 }, { type: "wind_down", turnsLeft: 2 }],
    [
      "winds down only once [O4]",
      { level: 9_100, windDownTurns: 1 },
      { type: "rest", status: "winding_down" },
    ],
    [
      "continues the wind-down just below the hard line",
      { level: 8_700, windDownTurns: 2 },
      { type: "restart", reason: "grace_spent" },
    ],
    [
      "restarts after the grace turns",
      { level: 9_100, windDownTurns: 2 },
      { type: "restart", reason: "grace_spent", confirm: false },
    ],
    [
      "restarts at once if the prompt does not fit",
      { level: 10_000 },
      { type: "restart", reason: "window_full" },
    ],
    [
      "masks protected results before restarting",
      { level: 10_000, urgentGain: 4_000 },
      { type: "mask", urgent: true },
    ],
    [
      "does not restart if that frees almost nothing",
      { level: 10_000, restartGain: 80 },
      { type: "stop", reason: "too_long" },
    ],
    [
      "does not restart for nothing at the hard line",
      { level: 9_500, windDownTurns: 2, restartGain: 80 },
      { type: "rest", status: "exhausted", withheld: "no_gain" },
    ],
    ["cuts a prompt that does not fit", { level: 10_500, restartGain: 0, cutGain: 600 }, { type: "cut" }],
    [
      "does not cut if the prompt still would not fit",
      { level: 10_500, restartGain: 0, cutGain: 500 },
      { type: "stop", reason: "too_long" },
    ],
    [
      "stops at the maximum number of restarts [O7]",
      { level: 10_000, restarts: 2 },
      { type: "stop", reason: "max_restarts" },
    ],
  ])("%s", (_, over, expected) => {
    expect(decide(facts(over), policy)).toMatchObject(expected);
  });

  it.each([
    ["cut", { type: "cut" }],
    ["refuse", { type: "stop", reason: "too_long" }],
    ["send_anyway", { type: "rest" }],
  ] as const)("a prompt over the window, without restarts: %s", (overflow, decision) => {
    const without = resolvePolicy({ mask: null, compact: null, restart: null, overflow });
    expect(decide(facts({ level: 10_500, cutGain: 5_000 }), without)).toMatchObject(decision);
    expect(decide(facts({ level: 9_999, cutGain: 5_000 }), without)).toMatchObject({ type: "rest" });
  });

  it("never acts in warn-only mode, at any level", () => {
    const quiet = { ...policy, mode: "warn_only" as const };
    for (let level = 0; level < 30_000; level += 500) {
      expect(decide(facts({ level, maskGain: level, compactGain: level }), quiet)).toEqual({
        type: "rest",
        status: "clear",
      });
    }
  });

  it("ignores percentage thresholds while the window size is unknown", () => {
    const unknown = limitsOf(policy.thresholds, undefined);
    expect(unknown).toEqual({});
    expect(decide(facts({ level: 900_000, roomTokens: undefined, limits: unknown }), policy)).toEqual({
      type: "rest",
      status: "clear",
    });
  });

  it("accepts thresholds as tokens and as tokens to keep free", () => {
    expect(
      limitsOf({ warning: 250_000, ceiling: 350_000, soft: null, hard: -20_000, reserve: "15%" }, 1_000_000),
    ).toEqual({ warning: 250_000, ceiling: 350_000, hard: 980_000, reserve: 850_000 });
  });
});
