import type { Limits } from "../decide.ts";
import { lineOfAction } from "../decide.ts";
import { type Calibration, inContext, predict } from "../measure/calibrate.ts";
import type { CompactPolicy, RestartPolicy } from "../policy.ts";
import type { Mask } from "../state.ts";
import type { History } from "./history.ts";
import { estimateRange, startOfRecent } from "./view.ts";

/** Where the agent stands when a part of its history is to be left behind. */
export interface Standing<M> {
  history: History<M>;
  masks: ReadonlyMap<string, Mask>;
  calibration: Calibration;
  /** First canonical message that is still sent. */
  from: number;
}

/** A summary is never expected to be shorter than this, estimated tokens. */
const LEAST_SUMMARY = 200;

/** The newest turns that stay verbatim, in half of the line at most: the rest of it is needed for what comes. */
export function keepFrom<M>(
  standing: Standing<M>,
  line: number,
  how: CompactPolicy["how"],
  keepTurns: number,
): number {
  const { history, masks, calibration, from } = standing;
  const turns = how === "compact" ? keepTurns : 1;
  return startOfRecent(history, masks, turns, (line * 0.5) / calibration.slope, from);
}

/** What a summary of everything before the kept turns could save at most, tokens. */
export function compactGain<M>(standing: Standing<M>, line: number, policy: CompactPolicy): number {
  const { history, masks, calibration, from } = standing;
  const older = estimateRange(history, masks, from, keepFrom(standing, line, policy.how, policy.keepTurns));
  return inContext(calibration, Math.max(0, older - LEAST_SUMMARY));
}

/**
 * So many of the newest turns that the next session starts well below the soft line. `head` are the estimated tokens
 * of what will stand before them.
 */
export function carryFrom<M>(
  standing: Standing<M>,
  head: number,
  limits: Limits,
  policy: RestartPolicy | null,
): number {
  const { history, masks, calibration, from } = standing;
  const line = lineOfAction(limits).mask ?? limits.hard;
  const fixed = predict(calibration, estimateRange(history, masks, 0, history.pinned) + head).tokens;
  const room =
    line === undefined
      ? Number.POSITIVE_INFINITY
      : Math.max(0, Math.min(line - fixed, line * (policy?.carryoverShare ?? 0.5)));
  return startOfRecent(history, masks, policy?.carryoverTurns ?? 0, room / calibration.slope, from);
}

/** Turns before a canonical message. */
export function turnsBefore<M>(history: History<M>, at: number): number {
  return history.units.filter((unit) => unit.turn && unit.from < at).length;
}

/** Turns from a canonical message on. */
export function turnsFrom<M>(history: History<M>, at: number): number {
  return history.units.filter((unit) => unit.turn && unit.from >= at).length;
}
