import type { Limits } from "../decide.ts";
import { lineOfAction } from "../decide.ts";
import { type Calibration, inContext, predict } from "../measure/calibrate.ts";
import type { CompactPolicy, RestartPolicy } from "../policy.ts";
import type { Mask } from "../state.ts";
import type { History, ResultPart } from "./history.ts";
import { estimateRange, openQuestion, startOfRecent } from "./view.ts";

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

/** What goes over into the next session. Estimated tokens. */
export interface Carryover {
  /** First canonical message that is carried. */
  at: number;
  /** How much of the open question is too much. */
  excess: number;
  /** What is freed by leaving the rest behind. */
  gain: number;
}

/** So much of an open question is carried however full the prompt is without it, estimated tokens. */
const LEAST_QUESTION = 200;

/**
 * So many of the newest turns that the next session starts well below the soft line. `head` and `sent` are the
 * estimated tokens of what will stand before them, and of what is sent now.
 */
export function carryover<M>(
  standing: Standing<M>,
  head: number,
  sent: number,
  limits: Limits,
  policy: RestartPolicy,
): Carryover {
  const { history, masks, calibration, from } = standing;
  const { carryoverTurns, carryoverShare, carryoverTokens } = policy;
  const { entries, units, pinned } = history;
  const line = lineOfAction(limits).mask ?? limits.hard;
  const before = estimateRange(history, masks, 0, pinned) + head;
  const room =
    line === undefined
      ? carryoverTokens
      : Math.max(0, Math.min(line - predict(calibration, before).tokens, line * carryoverShare));
  const left = room / calibration.slope;
  const at = startOfRecent(history, masks, carryoverTurns, left, from);
  const kept = estimateRange(history, masks, at, entries.length);
  const { from: asked, to } = units.at(-1) ?? { from: 0, to: 0 };
  const question = openQuestion(history) === undefined ? 0 : estimateRange(history, masks, asked, to);
  const excess = Math.max(0, question - Math.max(left, LEAST_QUESTION));
  return { at, excess, gain: sent - before - kept };
}

/** Texts of the open question that may be cut in the middle, the longest first. */
export function shortenable<M>({ history, masks }: Standing<M>): ResultPart[] {
  const texts = openQuestion(history)?.longTexts ?? [];
  return texts.filter(({ id }) => !masks.has(id)).sort((one, other) => other.tokens - one.tokens);
}

/** Turns before a canonical message. */
export function turnsBefore<M>(history: History<M>, at: number): number {
  return history.units.filter((unit) => unit.turn && unit.from < at).length;
}

/** Turns from a canonical message on. */
export function turnsFrom<M>(history: History<M>, at: number): number {
  return history.units.filter((unit) => unit.turn && unit.from >= at).length;
}
