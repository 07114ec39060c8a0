import type { QualityGroupView, QualitySplitView } from "@plimsoll/protocol/api";
import { MINUS, type OutcomeSignal } from "@plimsoll/protocol/pure";
import { compact, loadPercent, NONE, plural } from "../format.ts";

interface SignalWords {
  /** On its button. */
  name: string;
  /** The subject of a sentence. */
  subject: string;
  hint: string;
  /** What its rate is of, if not of tool calls. */
  of?: "requests";
}

/** What a rate of a signal is of. */
export const unitOf = (signal: OutcomeSignal) => SIGNAL_WORDS[signal].of ?? "calls";

export const SIGNAL_WORDS: Record<OutcomeSignal, SignalWords> = {
  failed: {
    name: "Failed calls",
    subject: "Failed tool calls",
    hint: "The tool reported an error, or its command returned another code than 0.",
  },
  repeated: {
    name: "Repeated calls",
    subject: "Exact repeats of tool calls",
    hint: "The same tool with the same input as earlier in the session.",
  },
  reedited: {
    name: "Edited again",
    subject: "Edits of the same file again",
    hint: "A file that had been edited was edited again after a command had run.",
  },
  failed_tests: {
    name: "Failed tests",
    subject: "Failed test runs",
    hint: "A command that runs tests, by its name, returned another code than 0. That may be right: tests are written to fail first.",
  },
  rejected: {
    name: "Rejected",
    subject: "Rejected tool calls",
    hint: "A person did not allow the call, or stopped it.",
  },
  corrected: {
    name: "Corrected",
    subject: "Corrections by a person",
    hint: "The next prompt begins as a correction does, in English: no, wrong, revert, you forgot.",
  },
  cut_off: {
    name: "Cut off",
    subject: "Answers that were cut off",
    hint: "The answer ended at the limit of its length.",
  },
  retried: {
    name: "Sent again",
    subject: "Requests that failed and were sent again",
    hint: "The provider or the network refused the request, and the harness sent it again. That is load of the provider more than work of the agent.",
    of: "requests",
  },
};

/** A rate per call, such as `6.2%`. */
export const rateText = (rate: number | null): string =>
  rate === null ? NONE : `${rate < 0.1 ? Math.round(rate * 1_000) / 10 : Math.round(rate * 100)}%`;

/** A difference of rates in points, without its sign. */
const points = (difference: number) => String(Math.round(Math.abs(difference) * 1_000) / 10);

/** The interval of a difference, such as `+2.9 to +5.7 points`. */
export const differenceText = ({ low, high }: Pick<QualitySplitView, "low" | "high">): string =>
  `${differenceOf(low)} to ${differenceOf(high)}`;

/** A difference of rates in points, such as `+2.9`. */
export function differenceOf(difference: number): string {
  const shown = points(difference);
  return shown === "0" ? shown : `${difference < 0 ? MINUS : "+"}${shown}`;
}

/** What is certain of a group, as a sentence. */
export function groupText(
  { clearest, level_splits: splits, levels }: QualityGroupView,
  signal: OutcomeSignal,
): string {
  const { subject } = SIGNAL_WORDS[signal];
  if (clearest !== null) {
    const { at, sessions, rate_below: below, difference, low, high } = clearest;
    return `${subject} rise from ${rateText(below)} to ${rateText(below + difference)} of ${unitOf(signal)} from ${compact(at)} tokens on (${plural(sessions, "session")}, ${points(low)} to ${points(high)} points).`;
  }
  if (levels.filter(({ calls }) => calls > 0).length < 2)
    return "All calls were made at about the same level, so levels cannot be compared.";
  if (splits.every(({ verdict }) => verdict === "few_sessions"))
    return "Too few sessions: a comparison needs 30 with calls below and above a level.";
  return splits.some(({ verdict }) => verdict === "falls")
    ? `${subject} become fewer at higher levels, and at none more.`
    : `${subject} are not certainly more at any level: within a session, and at the same place in it, full and empty windows do not differ.`;
}

/** Where a band lies: in tokens, or as a share of the line. */
export function bandText({ from, to }: { from: number; to: number | null }, by: "level" | "share"): string {
  const text = by === "level" ? compact : loadPercent;
  if (to === null) return `${text(from)} or more`;
  return from === 0 ? `below ${text(to)}` : `${text(from)} to ${text(to)}`;
}
