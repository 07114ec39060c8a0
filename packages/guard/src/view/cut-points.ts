import { type Limits, lineOfAction } from "../decide/decide.ts";
import { type Calibration, inContext, predict } from "../measure/calibrate.ts";
import type { CompactPolicy, RestartPolicy } from "../policy/policy.ts";
import type { Mask } from "../state/state.ts";
import type { MessageHistory, ResultPart } from "./history.ts";
import { estimateRange, openQuestion, startOfRecent } from "./view.ts";

/** Input for choosing where to cut a history. */
export interface CutInput<M> {
  history: MessageHistory<M>;
  masks: ReadonlyMap<string, Mask>;
  calibration: Calibration;
  /** Index of the first canonical message that is still sent. */
  from: number;
}

/** Assumed least size of a summary, in estimated tokens. */
const MIN_SUMMARY_TOKENS = 200;

/**
 * Returns the index of the first message to keep verbatim. The kept turns fill at most half the line, to leave room
 * for new ones.
 */
export function keepFrom<M>(
  input: CutInput<M>,
  line: number,
  how: CompactPolicy["how"],
  keepTurns: number,
): number {
  const { history, masks, calibration, from } = input;
  const turns = how === "compact" ? keepTurns : 1;
  return startOfRecent(history, masks, turns, (line * 0.5) / calibration.slope, from);
}

/**
 * Upper bound of the tokens that a summary of everything before the kept turns can save.
 * @param grown estimated tokens by which what stands beside the summary grows
 */
export function compactGain<M>(
  input: CutInput<M>,
  line: number,
  policy: CompactPolicy,
  grown: number,
): number {
  const { history, masks, calibration, from } = input;
  const older = estimateRange(history, masks, from, keepFrom(input, line, policy.how, policy.keepTurns));
  return inContext(calibration, Math.max(0, older - grown - MIN_SUMMARY_TOKENS));
}

/** The line of which what the user said may fill a share after a restart, in tokens. 0 if no line is known. */
export function wordsLine(limits: Limits): number {
  return lineOfAction(limits).mask ?? limits.hard ?? 0;
}

/** The part of a history that goes into the next session. Estimated tokens. */
export interface Carryover {
  /** Index of the first canonical message to carry. */
  at: number;
  /** Tokens by which the open question is too long. */
  excess: number;
  /** Tokens freed by dropping the rest. */
  gain: number;
}

/** Least size to which an open question is shortened, in estimated tokens. */
const MIN_QUESTION_TOKENS = 200;

/**
 * Chooses the newest turns that let the next session start well below the soft line. `head` is the estimated size of
 * what is sent before them and beside all messages, and `sent` of the current request.
 */
export function carryover<M>(
  input: CutInput<M>,
  head: number,
  sent: number,
  limits: Limits,
  policy: RestartPolicy,
): Carryover {
  const { history, masks, calibration, from } = input;
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
  const excess = Math.max(0, question - Math.max(left, MIN_QUESTION_TOKENS));
  return { at, excess, gain: sent - before - kept };
}

/** Texts of the open question that may be shortened, longest first. */
export function shortenableTexts<M>({ history, masks }: CutInput<M>): ResultPart[] {
  const texts = openQuestion(history)?.longTexts ?? [];
  return texts.filter(({ mark }) => !masks.has(mark)).sort((one, other) => other.tokens - one.tokens);
}

/** Number of turns before the canonical message at index `at`. */
export function turnsBefore<M>(history: MessageHistory<M>, at: number): number {
  return history.units.filter((unit) => unit.turn && unit.from < at).length;
}

/** Number of turns from the canonical message at index `at` on. */
export function turnsFrom<M>(history: MessageHistory<M>, at: number): number {
  return history.units.filter((unit) => unit.turn && unit.from >= at).length;
}
