import type { Thresholds } from "@plimsoll/protocol/pure";
import { HYSTERESIS, THRESHOLD_NAMES, thresholdTokens } from "@plimsoll/protocol/pure";
import type { CompactPolicy, GuardPolicy } from "./policy.ts";

/** The thresholds of a policy in tokens, for one window size. Those that are off or cannot be known are left out. */
export interface Limits {
  warning?: number;
  ceiling?: number;
  soft?: number;
  hard?: number;
  reserve?: number;
}

export function limitsOf(thresholds: Thresholds, windowTokens: number | undefined): Limits {
  const limits: Limits = {};
  for (const name of THRESHOLD_NAMES) {
    const tokens = thresholdTokens(name, thresholds[name], windowTokens);
    if (tokens !== undefined) limits[name] = tokens;
  }
  return limits;
}

/** Why a restart is due. */
export type RestartReason = "grace_spent" | "window_full" | "requested";

export type Decision =
  /** Mask oldest results until the level is at or below the target. */
  | { type: "mask"; target: number; urgent: boolean }
  | { type: "compact"; line: number }
  | { type: "fresh_session"; line: number }
  | { type: "wind_down"; turnsLeft: number }
  | { type: "restart"; reason: RestartReason; confirm: boolean }
  | { type: "stop"; reason: "max_restarts" }
  /** `withheld`: a restart is due that would free next to nothing. */
  | { type: "rest"; status: GuardStatus; withheld?: "no_gain" };

/** A restart that frees less would be followed by the next at once. Fraction of the hard line. */
const LEAST_RESTART = 0.01;

/** How the agent stands when nothing (more) is to be done. */
export type GuardStatus =
  /** Below every threshold at which something happens. */
  | "clear"
  /** Over a line, and no response has anything left to give: it waits for new content instead of trying again. */
  | "exhausted"
  /** Told to write down its state; a restart follows. */
  | "winding_down";

/** What the decision rests on. Tokens, except where said. */
export interface Facts {
  level: number;
  windowTokens: number | undefined;
  limits: Limits;
  /** What masking everything eligible would save. */
  maskGain: number;
  /** The same with the newest turns no longer protected, for when the prompt would not fit at all. */
  urgentGain: number;
  /** What summarising all but the kept turns could save at most. */
  compactGain: number;
  /** Turns since the wind-down message; undefined when none was sent. */
  windDownTurns: number | undefined;
  /** What a restart would free. */
  restartGain: number;
  restarts: number;
}

/**
 * The next thing to do, or to rest. Cheap responses come before dear ones: masking, then a summary, then winding down
 * and a restart. Called again after each is done, so a jump over several lines is answered in the same order.
 */
export function decide(facts: Facts, policy: GuardPolicy): Decision {
  if (policy.mode === "warn_only") return { type: "rest", status: "clear" };
  const { limits, level } = facts;
  const lines = lineOfAction(limits);
  const full = facts.windowTokens !== undefined && level >= facts.windowTokens;

  if (policy.mask !== null && lines.mask !== undefined && level >= lines.mask) {
    const worth = policy.mask.minGain * lines.mask;
    const target = Math.round(lines.mask * (1 - policy.mask.headroom));
    if (facts.maskGain > 0 && facts.maskGain >= worth) return { type: "mask", target, urgent: false };
    if (full && facts.urgentGain > 0 && facts.urgentGain >= worth) {
      return { type: "mask", target, urgent: true };
    }
  }
  if (policy.compact !== null && lines.compact !== undefined && level >= lines.compact) {
    if (facts.compactGain > 0 && facts.compactGain >= policy.compact.minGain * lines.compact) {
      return { type: howToCompact(facts, policy.compact, policy), line: lines.compact };
    }
  }
  if (policy.restart !== null && policy.restart.how !== "off" && limits.hard !== undefined) {
    const over = level >= limits.hard;
    const stillWinding = facts.windDownTurns !== undefined && level >= limits.hard * (1 - HYSTERESIS);
    if (over || stillWinding || full) {
      const spent = facts.windDownTurns !== undefined && facts.windDownTurns >= policy.restart.graceTurns;
      if (full || spent) {
        if (restartsSpent(facts, policy)) {
          return { type: "stop", reason: "max_restarts" };
        }
        if (facts.restartGain < limits.hard * LEAST_RESTART) {
          return { type: "rest", status: "exhausted", withheld: "no_gain" };
        }
        const reason = full ? "window_full" : "grace_spent";
        return { type: "restart", reason, confirm: policy.restart.how === "ask" };
      }
      if (facts.windDownTurns === undefined) {
        return { type: "wind_down", turnsLeft: policy.restart.graceTurns };
      }
      return { type: "rest", status: "winding_down" };
    }
  }
  const pressed = [lines.mask, lines.compact].some((line) => line !== undefined && level >= line);
  return { type: "rest", status: pressed ? "exhausted" : "clear" };
}

/** The maximum is reached: another restart is not allowed. */
export function restartsSpent({ restarts }: { restarts: number }, { restart }: GuardPolicy): boolean {
  return restart !== null && restart.max !== null && restarts >= restart.max;
}

/** A fresh session is a restart too: where none is left, older turns are summarised in place. */
export function howToCompact(
  state: { restarts: number },
  compact: CompactPolicy,
  policy: GuardPolicy,
): CompactPolicy["how"] {
  return restartsSpent(state, policy) ? "compact" : compact.how;
}

/** Masking starts at the lowest line where anything is to be saved; summaries wait for the ceiling or the reserve. */
export function lineOfAction(limits: Limits): { mask: number | undefined; compact: number | undefined } {
  return {
    mask: lowest(limits.soft, limits.ceiling, limits.reserve),
    compact: lowest(limits.ceiling, limits.reserve),
  };
}

/** The agent fell well below the hard line: the next crossing deserves a warning of its own. */
export function windDownOver(level: number, limits: Limits): boolean {
  return limits.hard === undefined || level < limits.hard * (1 - HYSTERESIS);
}

function lowest(...values: (number | undefined)[]): number | undefined {
  const known = values.filter((value) => value !== undefined);
  return known.length === 0 ? undefined : Math.min(...known);
}
