import { HYSTERESIS } from "@plimsoll/fold";
import { THRESHOLD_NAMES, type Thresholds, thresholdTokens } from "@plimsoll/protocol/pure";
import type { CompactPolicy, GuardPolicy, MaskPolicy, PacePolicy } from "../policy/policy.ts";

/**
 * The thresholds of a policy in tokens, for one window size. Disabled thresholds, and shares of an unknown window,
 * are absent.
 */
export interface Limits {
  warning?: number;
  ceiling?: number;
  soft?: number;
  hard?: number;
  reserve?: number;
}

/** Converts thresholds to tokens for a window of `windowTokens`. */
export function limitsOf(thresholds: Thresholds, windowTokens: number | undefined): Limits {
  const limits: Limits = {};
  for (const name of THRESHOLD_NAMES) {
    const tokens = thresholdTokens(name, thresholds[name], windowTokens);
    if (tokens !== undefined) limits[name] = tokens;
  }
  return limits;
}

/**
 * The part of a window that a prompt may fill, in tokens. An answer that may be as long as the window reserves nothing: no
 * prompt would fit.
 */
export function roomFor(windowTokens: number | undefined, reserved: number): number | undefined {
  return windowTokens === undefined || reserved >= windowTokens ? windowTokens : windowTokens - reserved;
}

/** The thresholds in tokens, below `room`. Shares are taken of less than the window if the highest line would be above it. */
export function limitsWithin(
  thresholds: Thresholds,
  windowTokens: number | undefined,
  room: number | undefined,
): Limits {
  const limits = limitsOf(thresholds, windowTokens);
  if (windowTokens === undefined || room === undefined || room === windowTokens) return limits;
  const highest = Math.max(...Object.values(limits));
  if (highest <= room) return limits;
  const scaled = limitsOf(thresholds, Math.max(1, Math.floor((windowTokens * room) / highest)));
  for (const name of THRESHOLD_NAMES) {
    const tokens = scaled[name];
    if (tokens !== undefined) scaled[name] = Math.min(tokens, room);
  }
  return scaled;
}

/** True if a threshold cannot be converted to tokens without a window size. */
export function needWindow(thresholds: Thresholds): boolean {
  const known = (windowTokens: number | undefined) => Object.keys(limitsOf(thresholds, windowTokens)).length;
  return known(1) > known(undefined);
}

/** Why a restart is due. */
export type RestartReason = "grace_spent" | "window_full" | "requested";

/** Why a prompt must not be sent: a restart is due and none is left, or it does not fit and nothing can be cut. */
export type StopCause = "max_restarts" | "too_long";

/** The next response to carry out. `target` and `line` are in tokens. */
export type Decision =
  /**
   * Mask the oldest results until the level is at or below `target`. `urgent` ignores the protection of the newest
   * turns.
   */
  | { type: "mask"; target: number; urgent: boolean }
  /** Shorten the results that the agent has not read yet, the longest first, to `budget` tokens together. */
  | { type: "shorten"; budget: number }
  | { type: "compact"; line: number }
  | { type: "fresh_session"; line: number }
  | { type: "wind_down"; turnsLeft: number }
  | { type: "restart"; reason: RestartReason; confirm: boolean }
  /** Cut the oldest turns, because the prompt does not fit. */
  | { type: "cut" }
  | { type: "stop"; reason: StopCause }
  /** `withheld`: a restart is due but would free almost nothing. */
  | { type: "rest"; status: GuardStatus; withheld?: "no_gain" };

/** A restart that frees less than this fraction of the hard line would soon need another. */
const MIN_RESTART_GAIN = 0.01;

/** The agent's status when no response is left to carry out. */
export type GuardStatus =
  /** Below every line that triggers a response. */
  | "clear"
  /** Above a line, but too few turns after the last action. */
  | "pacing"
  /** Above a line, but no response can free more. The guard waits for new content before it tries again. */
  | "exhausted"
  /** The agent received the wind-down notice. A restart follows. */
  | "winding_down";

/** Input of a decision. Values are in tokens unless noted. */
export interface Facts {
  level: number;
  /** By how much the true count may exceed the level. */
  uncertainty: number;
  /** Room for the prompt: the window without what is kept free for the answer. */
  roomTokens: number | undefined;
  limits: Limits;
  /** Size of the results that the agent has not read yet and that may be shortened, and the least that stays of them. */
  unread: { tokens: number; least: number };
  /** Saved by masking every eligible result. */
  maskGain: number;
  /** Saved by masking if the newest turns lose their protection, for a prompt that would not fit otherwise. */
  urgentGain: number;
  /** Upper bound of what summarising all but the kept turns can save. */
  compactGain: number;
  /** Number of turns since the wind-down notice; `undefined` if none was sent. */
  windDownTurns: number | undefined;
  /** Freed by a restart. */
  restartGain: number;
  /** Upper bound of what cutting all but the newest turn saves, for a prompt that would not fit otherwise. */
  cutGain: number;
  /** Number of restarts so far. */
  restarts: number;
  /** Number of turns since the last action; `undefined` if there was none. */
  turnsSinceAction: number | undefined;
  /** Summaries in a row that saved too little. */
  weakActions: number;
  /** Average number of tokens that a turn adds. */
  growth: number;
}

const MOST_WEAK_ACTIONS = 2;

/** True after two summaries in a row that saved too little. The next one must promise twice the gain. */
export function isExhausted({ weakActions }: Pick<Facts, "weakActions">): boolean {
  return weakActions >= MOST_WEAK_ACTIONS;
}

/** Largest share of the room that results keep which the agent has not read yet, if the prompt does not fit. */
const UNREAD_SHARE = 0.3;

/** A batch of masks leaves at least this fraction of the line, however fast the context grows. */
const LEAST_TARGET = 0.3;

/**
 * Returns the next response, or `rest`. Cheap responses come first: masking, then a summary, then a wind-down and a
 * restart. Call it again after each response.
 */
export function decide(facts: Facts, policy: GuardPolicy): Decision {
  if (policy.mode === "warn_only") return { type: "rest", status: "clear" };
  const { limits, level } = facts;
  const lines = lineOfAction(limits);
  const room = facts.roomTokens;
  const full = isOver(facts, 0);
  const waits = !full && isTooSoon(facts, policy);

  // Smaller results must not go before the large one that does not fit.
  if (full && room !== undefined) {
    const budget = Math.max(facts.unread.least, Math.floor(room * UNREAD_SHARE));
    if (facts.unread.tokens > budget) return { type: "shorten", budget };
  }

  if (!waits && policy.mask !== null && lines.mask !== undefined && level >= lines.mask) {
    const least = policy.mask.minGain * lines.mask;
    const target = maskTarget(lines.mask, facts.growth, policy.mask, policy.pace);
    if (facts.maskGain > 0 && facts.maskGain >= least) return { type: "mask", target, urgent: false };
    if (full && facts.urgentGain > 0 && facts.urgentGain >= least) {
      return { type: "mask", target, urgent: true };
    }
  }
  if (!waits && policy.compact !== null && lines.compact !== undefined && level >= lines.compact) {
    const least = policy.compact.minGain * lines.compact * (isExhausted(facts) ? 2 : 1);
    if (facts.compactGain > 0 && facts.compactGain >= least && !(full && isOver(facts, facts.compactGain))) {
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
        if (
          facts.restartGain < limits.hard * MIN_RESTART_GAIN ||
          (full && isOver(facts, facts.restartGain))
        ) {
          return overflow(facts, policy) ?? { type: "rest", status: "exhausted", withheld: "no_gain" };
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
  const decided = overflow(facts, policy);
  if (decided !== undefined) return decided;
  const overLine = [lines.mask, lines.compact].some((line) => line !== undefined && level >= line);
  return { type: "rest", status: overLine ? (waits ? "pacing" : "exhausted") : "clear" };
}

/** What is done with a prompt that does not fit and that no restart makes fit. */
function overflow(facts: Facts, policy: GuardPolicy): Decision | undefined {
  const { level, uncertainty, roomTokens, cutGain, unread } = facts;
  if (roomTokens === undefined || !isOver(facts, 0) || policy.overflow === "send_anyway") return undefined;
  const cuts = policy.overflow === "cut";
  if (cuts && cutGain > 0 && !isOver(facts, cutGain)) return { type: "cut" };
  const excess = level + uncertainty + 1 - roomTokens - (cuts ? cutGain : 0);
  const budget = Math.floor(unread.tokens - excess);
  if (budget >= unread.least && budget < unread.tokens) return { type: "shorten", budget };
  return { type: "stop", reason: "too_long" };
}

/** Whether the prompt may not fit after `gain` tokens are saved. */
function isOver(
  { level, uncertainty, roomTokens }: Pick<Facts, "level" | "uncertainty" | "roomTokens">,
  gain: number,
): boolean {
  return roomTokens !== undefined && level + uncertainty - gain >= roomTokens;
}

/** True if the last action was too few turns ago, and the hard line is not reached. */
export function isTooSoon(
  { turnsSinceAction, level, limits }: Pick<Facts, "turnsSinceAction" | "level" | "limits">,
  { pace }: GuardPolicy,
): boolean {
  if (turnsSinceAction === undefined || (limits.hard !== undefined && level >= limits.hard)) return false;
  return turnsSinceAction < pace.minTurns;
}

/** The level to mask down to, in tokens: with room for some turns at the rate at which the context grows. */
function maskTarget(
  line: number,
  growth: number,
  { headroom }: MaskPolicy,
  { roomTurns }: PacePolicy,
): number {
  // At the line itself, one more result is due.
  const room = Math.max(1, line * headroom, growth * roomTurns);
  return Math.round(Math.max(line * LEAST_TARGET, line - room));
}

/** True if the policy allows no further restart. */
export function restartsSpent({ restarts }: { restarts: number }, { restart }: GuardPolicy): boolean {
  return restart !== null && restart.max !== null && restarts >= restart.max;
}

/** A fresh session counts as a restart. Once the maximum is reached, older turns are summarised in place instead. */
export function howToCompact(
  state: { restarts: number },
  compact: CompactPolicy,
  policy: GuardPolicy,
): CompactPolicy["how"] {
  return restartsSpent(state, policy) ? "compact" : compact.how;
}

/**
 * The lines in tokens. Masking starts at the lowest of soft, ceiling and reserve; summaries at the ceiling or
 * reserve.
 */
export function lineOfAction(limits: Limits): { mask: number | undefined; compact: number | undefined } {
  return {
    mask: lowest(limits.soft, limits.ceiling, limits.reserve),
    compact: lowest(limits.ceiling, limits.reserve),
  };
}

/** True if the level is far enough below the hard line for the next crossing to send a new wind-down notice. */
export function windDownOver(level: number, limits: Limits): boolean {
  return limits.hard === undefined || level < limits.hard * (1 - HYSTERESIS);
}

function lowest(...values: (number | undefined)[]): number | undefined {
  const known = values.filter((value) => value !== undefined);
  return known.length === 0 ? undefined : Math.min(...known);
}
