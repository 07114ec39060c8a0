import type { PlimsollEventInput } from "@plimsoll/protocol";

/** Why a line, or what it said, gave no event. */
export const SKIP_REASONS = [
  "unreadable",
  "not_needed",
  "no_session",
  "no_time",
  "no_usage",
  "zero_usage",
  "synthetic",
  "repeated",
  "replayed",
  "copied",
  "superseded",
  "before_first_turn",
  "nothing_masked",
  "no_level",
] as const;
export type SkipReason = (typeof SKIP_REASONS)[number];
export type SkipCounts = Partial<Record<SkipReason, number>>;

export const SKIP_TEXT: Record<SkipReason, string> = {
  unreadable: "not a JSON object",
  not_needed: "says nothing about a context window",
  no_session: "names no session",
  no_time: "has no readable time",
  no_usage: "an inference without token counts",
  zero_usage: "token counts that are all zero",
  synthetic: "written by the harness, not by a model",
  repeated: "said before in the same recording",
  replayed: "a parent's history replayed by a sub-agent or fork",
  copied: "copied from another session, counted there",
  superseded: "said better by another line of the same inference",
  before_first_turn: "a clear before anything was in the context",
  nothing_masked: "a masking that masked nothing",
  no_level: "a wind-down with no level known",
};

export const FORMATS = ["claude-code", "agentd", "ouroboros", "codex"] as const;
export type Format = (typeof FORMATS)[number];

/** What a reader may know of the file a line stands in. Paths use `/`. */
export interface FileHint {
  path: string;
  /** Read only to understand its neighbours: gives no events of its own. */
  contextOnly?: boolean;
  /** Tokens of the window, from a flag or a configuration file beside the recording. */
  contextLimit?: number;
}

export interface ReaderOptions {
  /** The harness instance the events are filed under. */
  harness: string;
  /** False keeps prompts and other people's words out: sessions are sent without a title. */
  titles: boolean;
}

export interface Reading {
  events: PlimsollEventInput[];
  skipped: SkipCounts;
}

/**
 * Turns the lines of one group of files into events. It holds facts, not text, and decides when asked, so the result
 * depends on the set of lines and not on their order.
 */
export interface Reader {
  read(line: string, file: FileHint): void;
  /**
   * The events of every session touched since the last call. `final` says that nothing will follow; while following a
   * file, a line that a later one may correct is held back.
   */
  take(final: boolean): Reading;
}

/** Counts reasons; `drain` gives what was counted since the last time. */
export class Skips {
  #counts: SkipCounts = {};

  add(reason: SkipReason): void {
    this.#counts[reason] = (this.#counts[reason] ?? 0) + 1;
  }

  drain(): SkipCounts {
    const counts = this.#counts;
    this.#counts = {};
    return counts;
  }
}

export function addSkips(into: SkipCounts, more: SkipCounts): void {
  for (const reason of SKIP_REASONS) {
    const count = more[reason];
    if (count !== undefined) into[reason] = (into[reason] ?? 0) + count;
  }
}
