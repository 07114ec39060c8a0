import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { limitsOf } from "../decide/decide.ts";
import { type PolicyInput, resolvePolicy } from "../policy/policy.ts";
import { decidePrompt, decideStep, type StepFacts } from "./decide-step.ts";

const policyOf = (input: PolicyInput) =>
  resolvePolicy({ ...input, thresholds: { reserve: null, ...input.thresholds } });
const WINDOW = 100_000;

function facts(over: Partial<StepFacts>, thresholds: PolicyInput["thresholds"]): StepFacts {
  return {
    expected: 50_000,
    limits: limitsOf(policyOf({ ...(thresholds && { thresholds }) }).thresholds, WINDOW),
    windowTokens: WINDOW,
    floor: 0,
    restarts: 0,
    turns: 20,
    windDownTurns: undefined,
    ...over,
  };
}

describe("the decision at a step of a prompt", () => {
  it("never allows a call at or above the ceiling that a fresh session would bring below it", () => {
    const input = fc.record({
      expected: fc.nat(120_000),
      floor: fc.nat(39_999),
      restarts: fc.nat(3),
      turns: fc.nat(30),
    });
    const thresholds = { ceiling: 40_000, soft: null, hard: null };
    fc.assert(
      fc.property(input, (given) => {
        const policy = policyOf({ thresholds });
        const step = decideStep(facts(given, thresholds), policy);
        const paced = given.restarts === 0 || given.turns >= policy.pace.minTurns;
        const gain = given.expected - given.floor >= 4_000;
        if (given.expected >= 40_000 && paced && gain) expect(step.type).toBe("fresh");
        if (given.expected < 40_000) expect(step.type).toBe("go_on");
      }),
    );
  });

  it("never acts with `warn_only`", () => {
    fc.assert(
      fc.property(fc.nat(200_000), fc.nat(20), (expected, turns) => {
        const policy = policyOf({ mode: "warn_only" });
        for (const decide of [decideStep, decidePrompt])
          expect(decide(facts({ expected, turns }, undefined), policy)).toEqual({ type: "go_on" });
      }),
    );
  });

  it("does not start one fresh session after another while the pace forbids it", () => {
    const thresholds = { ceiling: 40_000, soft: null, hard: null };
    const policy = policyOf({ thresholds });
    expect(decideStep(facts({ restarts: 1, turns: 1 }, thresholds), policy)).toEqual({ type: "go_on" });
    expect(decideStep(facts({ restarts: 1, turns: 5 }, thresholds), policy)).toMatchObject({ type: "fresh" });
  });

  it("gives notice at the hard line even if the ceiling is withheld", () => {
    const thresholds = { ceiling: 40_000, soft: null, hard: 45_000 };
    const policy = policyOf({ thresholds, restart: { max: 1 } });
    const at = (over: Partial<StepFacts>) => decideStep(facts({ restarts: 1, ...over }, thresholds), policy);
    expect(at({ expected: 42_000 })).toEqual({ type: "withhold", reason: "max_restarts", stop: false });
    expect(at({})).toEqual({ type: "wind_down", turnsLeft: 3 });
    expect(at({ windDownTurns: 3 })).toEqual({ type: "withhold", reason: "max_restarts", stop: true });
  });

  it("asks for confirmation at the hard line only", () => {
    const thresholds = { ceiling: 40_000, soft: null, hard: 45_000 };
    const policy = policyOf({ thresholds, restart: { how: "ask" } });
    expect(decideStep(facts({}, thresholds), policy)).toMatchObject({ reason: "ceiling", confirm: false });
    const hard = policyOf({ thresholds, compact: null, restart: { how: "ask" } });
    expect(decidePrompt(facts({}, thresholds), hard)).toMatchObject({ reason: "grace_spent", confirm: true });
  });

  it("does not restart with `how: off`, except at the ceiling", () => {
    const thresholds = { ceiling: null, soft: null, hard: 45_000 };
    const policy = policyOf({ thresholds, restart: { how: "off" } });
    for (const decide of [decideStep, decidePrompt])
      expect(decide(facts({ expected: 110_000 }, thresholds), policy)).toEqual({ type: "go_on" });
  });
});
