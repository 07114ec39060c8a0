import type { PlimsollEventInput } from "@plimsoll/protocol/events";
import type { JsonObject } from "./json.ts";
import type { AgentContents } from "./transcript-parts.ts";

/** Reasons why a line produced no event. */
export const SKIP_REASONS = [
  "unreadable",
  "too_long",
  "too_deep",
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
  "aggregate",
] as const;
export type SkipReason = (typeof SKIP_REASONS)[number];
export type SkipCounts = Partial<Record<SkipReason, number>>;

export const SKIP_TEXT: Record<SkipReason, string> = {
  unreadable: "not a JSON object",
  too_long: "too long, also without its long texts",
  too_deep: "nested too deeply",
  not_needed: "no context window data",
  no_session: "no session id",
  no_time: "no valid time",
  no_usage: "inference without token counts",
  zero_usage: "all token counts are zero",
  synthetic: "written by the harness, not by a model",
  repeated: "repeated in the same recording",
  replayed: "history of the parent, replayed by a sub-agent or fork",
  copied: "copied from another session and counted there",
  superseded: "another line of the same inference has more data",
  before_first_turn: "clear before the first turn",
  nothing_masked: "masking without masked observations",
  no_level: "wind-down without a known level",
  aggregate: "sums over several calls",
};

/** The file of a line. Paths use `/`. */
export interface FileHint {
  path: string;
  /** True if the file is read only as context for other files and produces no events. */
  contextOnly?: boolean;
  /** Window size in tokens, from a flag or from a configuration file next to the recording. */
  contextLimit?: number;
}

/** Where a recording says that a session worked. It stays on its machine; only `repositoryOf` makes names of it. */
export interface SessionPlace {
  folder?: string | undefined;
  /** URL of a git remote. */
  remote?: string | undefined;
  branch?: string | undefined;
}

export interface NamedRepository {
  repository?: string;
  branch?: string;
}

export interface ReaderOptions {
  /** The harness instance of the events. */
  harness: string;
  /** False sends sessions without titles, because titles quote prompts and summaries. */
  titles: boolean;
  /** Names the repository of a session. Absent by default: nothing of its place is sent. */
  repositoryOf?: ((place: SessionPlace) => NamedRepository) | undefined;
}

export interface Reading {
  events: PlimsollEventInput[];
  skipped: SkipCounts;
}

/** Stands for a line that is too long to be read. It is no JSON. */
export const TOO_LONG_LINE = "\u0000too long";

/** Converts the lines of one group of files into events. The result depends on the set of lines, not on their order. */
export interface HarnessReader {
  /** Returns the reason if the line adds nothing. */
  read(line: string, file: FileHint): SkipReason | undefined;
  /**
   * Returns the events of every session with new lines since the last call. `final` means that no more lines follow;
   * without it, a line that a later one may correct is held back.
   */
  take(final: boolean): Reading;
  /** What the window of each agent holds at its latest turn. Absent if `contents` of the family says that recordings do not show it. */
  contents?(): AgentContents[];
}

/** What is known about the recordings of one family. */
export interface Recordings {
  /** Where they usually are, for a person. */
  place: string;
  /** Names of its files besides `*.jsonl`, for folders that hold other files too. */
  files?: readonly RegExp[];
  /**
   * Whether a JSON object can only be a line or a document of this family. It needs two fields, because one alone is common. The
   * families exclude each other, so their order does not matter.
   */
  recognizes(json: JsonObject): boolean;
  /** The same for a document that is a list. */
  recognizesList?(list: readonly unknown[]): boolean;
  /** Whether they hold the summaries of compactions as texts, so that `compacted` events tell what survived. */
  showsSummaries?: true;
  reader(options: ReaderOptions): HarnessReader;
}

/** Counts skip reasons. `drain` returns the counts since its last call. */
export class Skips {
  #counts: SkipCounts = {};

  add(reason: SkipReason): void {
    this.#counts[reason] = (this.#counts[reason] ?? 0) + 1;
  }

  /** Counts the reason if there is one, and returns it. */
  count(reason: SkipReason | undefined): SkipReason | undefined {
    if (reason !== undefined) this.add(reason);
    return reason;
  }

  drain(): SkipCounts {
    const counts = this.#counts;
    this.#counts = {};
    return counts;
  }
}

/** Adds items one by one. As arguments of one call, 100,000 and more would overflow the stack. */
export function append<T>(into: T[], items: readonly T[]): void {
  for (const item of items) into.push(item);
}

export function addSkips(into: SkipCounts, more: SkipCounts): void {
  for (const reason of SKIP_REASONS) {
    const count = more[reason];
    if (count !== undefined) into[reason] = (into[reason] ?? 0) + count;
  }
}
