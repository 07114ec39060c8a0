import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { harnessesIn, isOffered } from "./policy-versions.ts";
import {
  decideRollout,
  nextSetSize,
  type Offer,
  offerOfNextSet,
  offerOfStage,
  type RateChange,
  type RolloutObservations,
  RolloutPlan,
  type StagedPlan,
  stagesOf,
  watchedMs,
} from "./rollout.ts";

const staged = (plan: unknown) => RolloutPlan.parse(plan) as StagedPlan;
const CANARY = staged({ strategy: "canary", share: 0.1, harnesses: ["a@1"], bake_s: 60 });

const steady: RateChange = { before: { events: 10, turns: 1_000 }, since: { events: 1, turns: 100 } };
const calm: RolloutObservations = {
  rejected: 0,
  own: { connected: 2, applied: 1, rejected: 0 },
  hasOwn: true,
  hasOthers: true,
  restarts: steady,
  crossings: steady,
};

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

const fleetOf = (count: number, family = "a") => Array.from({ length: count }, (_, n) => `${family}@vm-${n}`);
const membersOf = (offer: Offer, generation: number, harnesses: readonly string[]) =>
  harnesses.filter((harness) => isOffered(offer, generation, harness));

describe("the harnesses of a stage", () => {
  it.each([
    [0.25, 20, 5],
    [0.1, 20, 2],
    [0.05, 20, 1],
    [0.01, 20, 1],
    [0.34, 3, 1],
    [0.5, 3, 2],
    [0.999, 20, 20],
    [0.25, 1, 1],
    [0.25, 0, 0],
    [0, 20, 0],
  ])("are %d of %d: %d, whatever the generation", (share, count, expected) => {
    expect(harnessesIn(share, count)).toBe(expected);
    const harnesses = share === 0 ? ["b@1"] : [];
    const plan = staged({ strategy: "canary", share, harnesses, bake_s: 1 });
    for (let generation = 1; generation <= 50; generation += 1) {
      const live = fleetOf(count);
      const offer = offerOfStage(plan, { generation, stage: 0, before: undefined, live });
      expect(membersOf(offer, generation, live)).toHaveLength(expected);
      expect(offer.share).toBeLessThan(1);
    }
  });

  it("are others in other generations", () => {
    const live = fleetOf(20);
    const sets = [1, 2, 3].map((generation) =>
      membersOf(
        offerOfStage(CANARY, { generation, stage: 0, before: undefined, live }),
        generation,
        live,
      ).join(),
    );
    expect(new Set(sets).size).toBe(3);
  });

  it("stay members while harnesses join and leave, and grow by at least one with each stage", () => {
    const linear = fc.double({ min: 0.01, max: 0.5, noNaN: true });
    const fleets = fc.array(fc.subarray(fleetOf(40), { minLength: 1 }), { minLength: 2, maxLength: 12 });
    fc.assert(
      fc.property(linear, fleets, fc.integer({ min: 1, max: 1_000 }), (share, seen, generation) => {
        const plan = staged({ strategy: "linear", share, bake_s: 1 });
        let before: Offer | undefined;
        for (const [stage, live] of seen.slice(0, stagesOf(plan).length).entries()) {
          const kept = before === undefined ? [] : membersOf(before, generation, fleetOf(40));
          const known = before === undefined ? 0 : membersOf(before, generation, live).length;
          const offer = offerOfStage(plan, { generation, stage, before, live });
          expect(membersOf(offer, generation, fleetOf(40))).toEqual(expect.arrayContaining(kept));
          const more = membersOf(offer, generation, live).length;
          expect(more).toBeGreaterThanOrEqual(Math.min(live.length, known + 1));
          const { share: asked } = stagesOf(plan)[stage]!;
          if (known < harnessesIn(asked, live.length)) expect(more).toBe(harnessesIn(asked, live.length));
          before = offer;
        }
      }),
    );
  });

  it("are the named ones alone, unless a share is added", () => {
    const live = [...fleetOf(20), "b@1"];
    const place = { generation: 1, stage: 0, before: undefined, live };
    const named = staged({ strategy: "canary", share: 0, harnesses: ["b@1", "b@2"], bake_s: 1 });
    expect(membersOf(offerOfStage(named, place), 1, live)).toEqual(["b@1"]);
    const both = staged({ strategy: "canary", share: 0.25, harnesses: ["b@1"], bake_s: 1 });
    expect(membersOf(offerOfStage(both, place), 1, live)).toHaveLength(6);
  });

  it("are followed by a next set of as many, until everybody connected is offered the version", () => {
    const plan = staged({ strategy: "canary", share: 0.4, bake_s: 1 });
    const live = fleetOf(10);
    let before = offerOfStage(plan, { generation: 7, stage: 0, before: undefined, live });
    const sizes = [membersOf(before, 7, live).length];
    for (;;) {
      const place = { generation: 7, stage: 0, before, live };
      if (nextSetSize(plan, place) === 0) break;
      const next = offerOfNextSet(plan, place);
      expect(membersOf(next, 7, live)).toEqual(expect.arrayContaining(membersOf(before, 7, live)));
      before = next;
      sizes.push(membersOf(before, 7, live).length);
    }
    expect(sizes).toEqual([4, 8, 10]);
    expect(before.share).toBeLessThan(1);
    const named = staged({ strategy: "canary", share: 0, harnesses: ["a@vm-1", "a@vm-2"], bake_s: 1 });
    const first = offerOfStage(named, { generation: 7, stage: 0, before: undefined, live });
    const second = offerOfNextSet(named, { generation: 7, stage: 0, before: first, live });
    expect(membersOf(second, 7, live)).toHaveLength(4);
    expect(membersOf(second, 7, live)).toEqual(expect.arrayContaining(["a@vm-1", "a@vm-2"]));
  });
});

it.each([
  ["a look on time", 2_000, 2_000],
  ["a process that stood still for an hour", 3_600_000, 4_000],
  ["a clock that ran backwards", -5, 0],
])("the time of a stage: %s", (_, elapsed, counted) => {
  expect(watchedMs(elapsed, 4_000)).toBe(counted);
});

describe("a rollout", () => {
  const decide = (observed: Partial<RolloutObservations>, bakedMs = 60_000, plan = CANARY, stage = 0) =>
    decideRollout(plan, { stage, bakedMs }, { ...calm, ...observed });

  it("waits until the stage's time is over", () => {
    expect(decide({}, 59_999)).toEqual({ type: "wait", for: "bake", leftMs: 1 });
    expect(decide({}, 60_000)).toEqual({ type: "advance", to: 1, last: true });
  });

  it.each([
    ["its harnesses are not connected", { connected: 0, applied: 0, rejected: 0 }, "harness"],
    ["none of its harnesses has applied it", { connected: 5, applied: 0, rejected: 4 }, "application"],
    ["each of its harnesses has rejected it", { connected: 5, applied: 0, rejected: 5 }, "next_set"],
  ] as const)("waits while %s", (_, own, waits) => {
    expect(decide({ own }, 10_000_000)).toEqual({ type: "wait", for: waits, leftMs: 0 });
    // Also before its time is over, which does not pass: but for an application, which may still come.
    expect(decide({ own }, 0)).toMatchObject({ for: waits === "application" ? "bake" : waits });
  });

  it("goes to everybody when no harness is left that could try it first", () => {
    const plan = staged({ strategy: "linear", share: 0.1, bake_s: 60 });
    expect(decide({ hasOthers: true }, 60_000, plan)).toEqual({ type: "advance", to: 1, last: false });
    expect(decide({ hasOthers: false }, 60_000, plan)).toEqual({ type: "advance", to: 9, last: true });
    const nobody = { connected: 0, applied: 0, rejected: 0 };
    const all = { own: nobody, hasOwn: false, hasOthers: false };
    expect(decide(all, 0, plan, 3)).toEqual({ type: "advance", to: 9, last: true });
    expect(decide({ ...all, hasOwn: true }, 0, plan, 3)).toMatchObject({ for: "harness" });
    expect(decide({ ...all, hasOthers: true }, 0, plan, 3)).toMatchObject({ for: "harness" });
  });

  it("halts at once at a rejection, also before anybody applied it", () => {
    expect(decide({ rejected: 1 }, 0)).toEqual({ type: "halt", reason: "rejected" });
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

  it("never advances past a rejection, before its time or without an application of the stage", () => {
    const rate = fc.record({ events: fc.nat(100), turns: fc.nat(1_000) });
    const change = fc.record({ before: rate, since: rate });
    const observations = fc.record({
      rejected: fc.nat(3),
      own: fc.record({ connected: fc.nat(3), applied: fc.nat(3), rejected: fc.nat(3) }),
      hasOwn: fc.constant(true),
      hasOthers: fc.boolean(),
      restarts: change,
      crossings: change,
    });
    fc.assert(
      fc.property(observations, fc.nat(200_000), (observed, bakedMs) => {
        const decision = decide(observed, bakedMs);
        if (decision.type === "advance") {
          expect([observed.rejected, observed.own.applied > 0, bakedMs >= 60_000]).toEqual([0, true, true]);
        }
        if (observed.rejected > 0) expect(decision).toEqual({ type: "halt", reason: "rejected" });
      }),
    );
  });
});
