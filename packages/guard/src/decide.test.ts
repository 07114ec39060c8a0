import { describe, expect, it } from "vitest";
import type { Facts } from "./decide.ts";
import { decide, limitsOf } from "./decide.ts";
import { resolvePolicy } from "./policy.ts";

const policy = resolvePolicy({
  thresholds: { warning: "15%", ceiling: "50%", soft: "40%", hard: "90%" },
  restart: { graceTurns: 2, max: 2 },
});
const limits = limitsOf(policy.thresholds, 10_000);
const facts = (over: Partial<Facts>): Facts => ({
  level: 0,
  windowTokens: 10_000,
  limits,
  maskGain: 0,
  urgentGain: 0,
  compactGain: 0,
  windDownTurns: undefined,
  restartGain: 5_000,
  restarts: 0,
  ...over,
});

describe("decide", () => {
  it.each<[string, Partial<Facts>, object]>([
    ["rests below every line", { level: 3_999, maskGain: 5_000 }, { type: "rest", status: "clear" }],
    [
      "masks from the soft line on",
      { level: 4_000, maskGain: 500 },
      { type: "mask", target: 3_400, urgent: false },
    ],
    [
      "masks only when a batch is worth the cache",
      { level: 4_000, maskGain: 100 },
      { type: "rest", status: "exhausted" },
    ],
    ["masks before it compacts", { level: 6_000, maskGain: 500, compactGain: 5_000 }, { type: "mask" }],
    ["compacts from the ceiling on", { level: 5_000, compactGain: 2_000 }, { type: "compact", line: 5_000 }],
    [
      "does not compact below it",
      { level: 4_999, compactGain: 2_000 },
      { type: "rest", status: "exhausted" },
    ],
    ["winds down at the hard line", { level: 9_000 }, { type: "wind_down", turnsLeft: 2 }],
    ["says it once", { level: 9_100, windDownTurns: 1 }, { type: "rest", status: "winding_down" }],
    [
      "keeps winding down just below the line",
      { level: 8_700, windDownTurns: 2 },
      { type: "restart", reason: "grace_spent" },
    ],
    [
      "restarts when the grace is spent",
      { level: 9_100, windDownTurns: 2 },
      { type: "restart", reason: "grace_spent", confirm: false },
    ],
    [
      "restarts at once when the prompt would not fit",
      { level: 10_000 },
      { type: "restart", reason: "window_full" },
    ],
    [
      "masks what is protected before that",
      { level: 10_000, urgentGain: 4_000 },
      { type: "mask", urgent: true },
    ],
    [
      "does not restart where that would free next to nothing",
      { level: 10_000, restartGain: 80 },
      { type: "rest", status: "exhausted", withheld: "no_gain" },
    ],
    [
      "stops at the maximum of restarts",
      { level: 10_000, restarts: 2 },
      { type: "stop", reason: "max_restarts" },
    ],
  ])("%s", (_, over, expected) => {
    expect(decide(facts(over), policy)).toMatchObject(expected);
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

  it("does nothing by share of a window whose size nobody knows", () => {
    const unknown = limitsOf(policy.thresholds, undefined);
    expect(unknown).toEqual({});
    expect(decide(facts({ level: 900_000, windowTokens: undefined, limits: unknown }), policy)).toEqual({
      type: "rest",
      status: "clear",
    });
  });

  it("understands token counts and tokens that must stay free", () => {
    expect(
      limitsOf({ warning: 250_000, ceiling: 350_000, soft: null, hard: -20_000, reserve: "15%" }, 1_000_000),
    ).toEqual({ warning: 250_000, ceiling: 350_000, hard: 980_000, reserve: 850_000 });
  });
});
