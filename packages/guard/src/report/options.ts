import type { OptionNames } from "../policy/check-names.ts";

/**
 * Stores events while the server is unreachable. Implementations must survive a crash at any point. Sending an event
 * twice is harmless, because events have ids. See `fileSpool` of `@plimsoll/guard/node`.
 */
export interface Spool {
  /** Adds lines and drops the oldest when full. Returns the number of dropped lines. */
  add(lines: readonly string[]): Promise<number>;
  /** Returns the oldest lines, which stay stored until `done` is called; `undefined` if the spool is empty. */
  next(maxEvents: number, maxBytes: number): Promise<{ lines: string[]; done(): Promise<void> } | undefined>;
}

/** Receives every event as one line of JSON. */
export type LogLine = (line: string) => void;

/** Options of {@link createReporter}. */
export interface ReporterOptions {
  /** Base URL of the server. Without it, events only go to the log. */
  url?: string | undefined;
  /** Ingest key. */
  key?: string | undefined;
  /** Receives each event as JSON, such as `sessionLog(path)`. */
  log?: LogLine;
  /** Stores events while the server is unreachable, such as `fileSpool(folder)`. */
  spool?: Spool;
  /**
   * Longest time that an event waits in memory before it is sent, or spooled if the server does not answer. In ms.
   * Default: 1,000.
   */
  flushMs?: number;
  /** Maximum number of events per request. Default: 500. */
  batch?: number;
  /** Maximum number of events in memory. Default: 10,000. */
  maxEvents?: number;
  /** Maximum size of the events in memory, in bytes. Default: 16,000,000. */
  maxBytes?: number;
  /** Timeout of one request, in ms. Default: 10,000. */
  timeoutMs?: number;
  /** Called once for each new kind of problem. */
  onTrouble?: (trouble: Trouble) => void;
  /** The `fetch` to use. Default: the global one. */
  fetch?: typeof fetch;
  /** Current time in epoch ms. */
  clock?: () => number;
  /** Random number from 0 to 1, for jitter. */
  random?: () => number;
}

export const REPORTER_OPTIONS: OptionNames<ReporterOptions> = {
  url: "optional",
  key: "optional",
  log: "optional",
  spool: "optional",
  flushMs: "optional",
  batch: "optional",
  maxEvents: "optional",
  maxBytes: "optional",
  timeoutMs: "optional",
  onTrouble: "optional",
  fetch: "optional",
  clock: "optional",
  random: "optional",
};

/** A problem with reporting. */
export interface Trouble {
  /**
   * `away`: the server is unreachable or overloaded. `refused`: it refused the key or URL. `rejected`: it rejected
   * events. `dropped`: events were lost. `log` and `spool`: writing or reading there failed.
   */
  kind: "away" | "refused" | "rejected" | "dropped" | "log" | "spool";
  message: string;
}

/** Counts of events. */
export interface ReporterStats {
  recorded: number;
  sent: number;
  /** Events that the server rejected individually. */
  rejected: number;
  /** Events lost because memory or the spool was full. */
  dropped: number;
  /** Events in memory now. */
  waiting: number;
  /** Events written to the spool so far. */
  spooled: number;
}
