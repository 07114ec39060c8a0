import { type Limits, lineOfAction, restartsSpent, windDownOver } from "../decide/decide.ts";
import type { GuardPolicy } from "../policy/policy.ts";

/** Decides whether a session continues. Levels in tokens. */
export interface StepFacts {
  /** Expected prompt of the next call. */
  expected: number;
  limits: Limits;
  windowTokens: number | undefined;
  /** Level at which the last fresh session started, without its prompt. 0 before the first restart. */
  floor: number;
  restarts: number;
  /** Responses of the current session. */
  turns: number;
  /** Responses since the wind-down notice; `undefined` if none was sent. */
  windDownTurns: number | undefined;
}

/** Why a fresh session begins. */
export type FreshReason = "ceiling" | "grace_spent" | "window_full";

/** What to do before the next call. */
export type SessionStep =
  | { type: "go_on" }
  | { type: "wind_down"; turnsLeft: number }
  | { type: "fresh"; reason: FreshReason; confirm: boolean }
  /** A fresh session is due, but does not help or is not allowed. `stop`: the call must not be made either. */
  | { type: "withhold"; reason: "max_restarts" | "no_gain"; stop: boolean };

const GO_ON: SessionStep = { type: "go_on" };
/** A fresh session that frees less than this fraction of the line would soon need another. */
const LEAST_GAIN = 0.1;
/** A fresh session whose first steps fill the window would have the next one do the same. */
const LEAST_TURNS = 2;

/** Decides between two prompts. At the hard line the grace period ends with the prompt. */
export function decidePrompt(facts: StepFacts, policy: GuardPolicy): SessionStep {
  if (policy.mode === "warn_only") return GO_ON;
  const hard = isOverHard(facts, policy) || isFull(facts, policy);
  const ceiling = overCeiling(facts, policy);
  if (ceiling === undefined && !hard) return GO_ON;
  const line = ceiling ?? facts.limits.hard ?? facts.windowTokens ?? 0;
  return fresh(facts, policy, line, ceiling === undefined ? "grace_spent" : "ceiling");
}

/**
 * Decides in the middle of a prompt, after all tools of a response have answered. The ceiling is a line of its own; at the
 * hard line the agent first gets a notice and some turns to write down what it knows.
 */
export function decideStep(facts: StepFacts, policy: GuardPolicy): SessionStep {
  if (policy.mode === "warn_only") return GO_ON;
  const line = overCeiling(facts, policy);
  const paced = facts.restarts === 0 || facts.turns >= policy.pace.minTurns;
  const ceiling = line !== undefined && paced ? freshInside(facts, policy, line, "ceiling") : GO_ON;
  if (ceiling.type === "fresh") return ceiling;
  const hard = atHardLine(facts, policy);
  return hard.type === "go_on" && ceiling.type === "withhold" ? { ...ceiling, stop: false } : hard;
}

function atHardLine(facts: StepFacts, policy: GuardPolicy): SessionStep {
  const { expected, limits, windDownTurns, windowTokens } = facts;
  if (isFull(facts, policy) && facts.turns >= LEAST_TURNS)
    return freshInside(facts, policy, windowTokens!, "window_full");
  const winding = windDownTurns !== undefined && !windDownOver(expected, limits);
  if (!canRestart(policy) || !(isOverHard(facts, policy) || winding)) return GO_ON;
  const graceTurns = policy.restart!.graceTurns;
  if (windDownTurns === undefined) return { type: "wind_down", turnsLeft: graceTurns };
  return windDownTurns >= graceTurns ? freshInside(facts, policy, limits.hard!, "grace_spent") : GO_ON;
}

/** In the middle of a prompt, a fresh session that starts above its line would be replaced at its first step. */
function freshInside(facts: StepFacts, policy: GuardPolicy, line: number, reason: FreshReason): SessionStep {
  const step = fresh(facts, policy, line, reason);
  return step.type === "fresh" && facts.floor >= line
    ? { type: "withhold", reason: "no_gain", stop: false }
    : step;
}

function fresh(facts: StepFacts, policy: GuardPolicy, line: number, reason: FreshReason): SessionStep {
  const { expected, floor } = facts;
  if (restartsSpent(facts, policy)) {
    const stop = isOverHard(facts, policy) || isFull(facts, policy);
    return { type: "withhold", reason: "max_restarts", stop };
  }
  if (expected - floor < (policy.compact?.minGain ?? LEAST_GAIN) * line) {
    return { type: "withhold", reason: "no_gain", stop: false };
  }
  return { type: "fresh", reason, confirm: reason !== "ceiling" && policy.restart?.how === "ask" };
}

/** Returns the ceiling if the next call is expected at or above it. */
function overCeiling({ expected, limits }: StepFacts, policy: GuardPolicy): number | undefined {
  const line = policy.compact === null ? undefined : lineOfAction(limits).compact;
  return line !== undefined && expected >= line ? line : undefined;
}

function isOverHard({ expected, limits }: StepFacts, policy: GuardPolicy): boolean {
  return canRestart(policy) && limits.hard !== undefined && expected >= limits.hard;
}

function isFull({ expected, windowTokens }: StepFacts, policy: GuardPolicy): boolean {
  return canRestart(policy) && windowTokens !== undefined && expected >= windowTokens;
}

function canRestart({ restart }: GuardPolicy): boolean {
  return restart !== null && restart.how !== "off";
}
