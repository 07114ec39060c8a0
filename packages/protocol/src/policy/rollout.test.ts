import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  decideRollout,
  type RateChange,
  type RolloutObservations,
  RolloutPlan,
  type StagedPlan,
  stagesOf,
} from "./rollout.ts";

const staged = (plan: unknown) => RolloutPlan.parse(plan) as StagedPlan;
const CANARY = staged({ strategy: "canary", share: 0.1, harnesses: ["a@1"], bake_s: 60 });
const SINCE = 1_000_000;

const steady: RateChange = { before: { events: 10, turns: 1_000 }, since: { events: 1, turns: 100 } };
const calm: RolloutObservations = { rejected: 0, applied: 1, restarts: steady, crossings: steady };

describe("the stages of a plan", () => {
  it.each([
    [CANARY, [0.1, 1]],
    [staged({ strategy: "linear", share: 0.25, bake_s: 1 }), [0.25, 0.5, 0.75, 1]],
    [staged({ strategy: "linear", share: 0.1, bake_s: 1 }), [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1]],
    [staged({ strategy: "linear", share: 0.4, bake_s: 1 }), [0.4, 0.8, 1]],
    [staged({ strategy: "linear", share: 0.999, bake_s: 1 }), [0.999, 1]],
  ])("%o", (plan, shares) => {
    expect(stagesOf(plan).map((stage) => stage.share)).toEqual(shares);
  });

  it("names the canaries in the first stage", () => {
    expect(stagesOf(CANARY)[0]!.harnesses).toEqual(["a@1"]);
  });

  it("grow and end with everybody, for any share", () => {
    fc.assert(
      fc.property(fc.double({ min: 0.01, max: 0.999, noNaN: true }), (share) => {
        const shares = stagesOf(staged({ strategy: "linear", share, bake_s: 1 })).map((stage) => stage.share);
        expect(shares.at(-1)).toBe(1);
        expect(shares.every((one, index) => index === 0 || one > shares[index - 1]!)).toBe(true);
      }),
    );
  });
});

describe("a rollout", () => {
  const decide = (observed: Partial<RolloutObservations>, after = 60_000, plan = CANARY, stage = 0) =>
    decideRollout(plan, { stage, since: SINCE }, { ...calm, ...observed }, SINCE + after);

  it("waits until the stage's time is over", () => {
    expect(decide({}, 59_999)).toEqual({ type: "wait", for: "bake", until: SINCE + 60_000 });
    expect(decide({}, 60_000)).toEqual({ type: "advance", to: 1, last: true });
  });

  it("waits until somebody has applied the version", () => {
    expect(decide({ applied: 0 }, 10_000_000)).toMatchObject({ type: "wait", for: "application" });
  });

  it("waits if the clock was set back", () => {
    expect(decide({}, -3_600_000)).toMatchObject({ type: "wait", for: "bake" });
  });

  it("halts at once at a rejection, also before anybody applied it", () => {
    expect(decide({ rejected: 1, applied: 0 }, 0)).toEqual({ type: "halt", reason: "rejected" });
    const tolerant = staged({ strategy: "canary", bake_s: 60, halt: { rejections: 3 } });
    expect(decide({ rejected: 2 }, 0, tolerant)).toMatchObject({ type: "wait" });
    expect(decide({ rejected: 3 }, 0, tolerant)).toMatchObject({ type: "halt" });
  });

  it.each<[string, RateChange, boolean]>([
    ["as many as before", steady, false],
    ["twice as many", { before: { events: 100, turns: 1_000 }, since: { events: 20, turns: 100 } }, false],
    ["more than twice", { before: { events: 100, turns: 1_000 }, since: { events: 21, turns: 100 } }, true],
    ["two after none", { before: { events: 0, turns: 1_000 }, since: { events: 2, turns: 100 } }, false],
    ["three after none", { before: { events: 0, turns: 1_000 }, since: { events: 3, turns: 100 } }, true],
    ["too few turns since", { before: { events: 0, turns: 1_000 }, since: { events: 40, turns: 49 } }, false],
    ["too few turns before", { before: { events: 0, turns: 49 }, since: { events: 40, turns: 100 } }, false],
    ["no turns at all", { before: { events: 0, turns: 0 }, since: { events: 0, turns: 0 } }, false],
  ])("judges a rise: %s", (_, change, halts) => {
    expect(decide({ restarts: change }, 0).type).toBe(halts ? "halt" : "wait");
    expect(decide({ crossings: change }, 0).type).toBe(halts ? "halt" : "wait");
    const deaf = staged({ strategy: "canary", bake_s: 60, halt: { rise: null } });
    expect(decide({ restarts: change, crossings: change }, 0, deaf).type).toBe("wait");
  });

  it("advances one stage at a time and reaches everybody", () => {
    const plan = staged({ strategy: "linear", share: 0.3, bake_s: 60 });
    expect([0, 1, 2].map((stage) => decide({}, 60_000, plan, stage))).toEqual([
      { type: "advance", to: 1, last: false },
      { type: "advance", to: 2, last: false },
      { type: "advance", to: 3, last: true },
    ]);
  });

  it("never advances past a rejection or before its time", () => {
    const rate = fc.record({ events: fc.nat(100), turns: fc.nat(1_000) });
    const change = fc.record({ before: rate, since: rate });
    const observations = fc.record({
      rejected: fc.nat(3),
      applied: fc.nat(3),
      restarts: change,
      crossings: change,
    });
    fc.assert(
      fc.property(observations, fc.integer({ min: -100_000, max: 200_000 }), (observed, after) => {
        const decision = decide(observed, after);
        if (decision.type === "advance") {
          expect([observed.rejected, observed.applied > 0, after >= 60_000]).toEqual([0, true, true]);
        }
        if (observed.rejected > 0) expect(decision).toEqual({ type: "halt", reason: "rejected" });
      }),
    );
  });
});
