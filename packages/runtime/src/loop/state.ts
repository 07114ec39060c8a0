import { clip } from "@plimsoll/guard/view";

/** Any JSON value. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** The handoff from one context to the next. */
export interface Continuation {
  accomplished: readonly string[];
  remaining: readonly string[];
  findings: readonly string[];
}

/** Why a loop ended. `iterations`, `cost` and `time` name the limit that was reached. */
export type LoopEnd =
  /** The tick reported that the goal is reached. */
  | "done"
  /** The tick needs something that only a person can provide. */
  | "blocked"
  | "iterations"
  | "cost"
  | "time"
  /** An iteration filled context after context without progress. */
  | "no_progress"
  | "aborted"
  /** More consecutive ticks failed than `maxFailures` allows. */
  | "failed"
  /** The process ended in the same tick `maxCrashes` times. */
  | "tick_crashes"
  /** `summarize` failed `maxCrashes` times for the same tick. */
  | "summary_failed";

/**
 * The stored step of a loop. After a restart of the process, `running` means that it died in a tick, and `yielded`
 * that the summary is not written yet.
 */
export type LoopStep = "ready" | "running" | "yielded" | "finished";

/** Progress of the current tick, used if the process dies in it. Times in epoch ms. */
export interface RunningTick {
  since: number;
  /** Time of the latest model call. */
  last: number;
  /** Cost of the tick's calls so far. */
  costUsd: number;
}

/** The loop's persistent state: one plain JSON document, replaced at each step. */
export interface LoopState {
  version: 1;
  loop: string;
  goal: string;
  step: LoopStep;
  /** Number of finished iterations. */
  iteration: number;
  /** Sub-tick of the current iteration, from 0. */
  sub: number;
  /** Number of sub-tick boundaries over all iterations. */
  boundaries: number;
  /** The previous sub-tick's handoff; `undefined` at the start of an iteration. */
  continuation: Continuation | undefined;
  /** The input of the next summary, stored so that a crash cannot lose it. */
  yielded: Json | undefined;
  /** Result of each finished iteration. */
  results: Json[];
  /** The harness's own state across iterations. */
  data: Json;
  /** The data needed to reattach to each handle. */
  handles: Record<string, Json>;
  costUsd: number;
  /** Time in ticks and summaries, in ms. */
  elapsedMs: number;
  /** Number of consecutive failed ticks. */
  failures: number;
  /** Number of processes that died in the current tick. */
  crashes: number;
  /** Number of attempts at the pending summary. */
  summaryTries: number;
  /** True if the current tick started before and did not return. */
  interrupted: boolean;
  running: RunningTick | undefined;
  lastError: string | undefined;
  end: LoopEnd | undefined;
}

export function newLoop(loop: string, goal: string, data: Json): LoopState {
  return {
    version: 1,
    loop,
    goal,
    step: "ready",
    iteration: 0,
    sub: 0,
    boundaries: 0,
    continuation: undefined,
    yielded: undefined,
    results: [],
    data,
    handles: {},
    costUsd: 0,
    elapsedMs: 0,
    failures: 0,
    crashes: 0,
    summaryTries: 0,
    interrupted: false,
    running: undefined,
    lastError: undefined,
    end: undefined,
  };
}

/** Stores one loop's state. `write` must be atomic. See `fileLoopStore` of `@plimsoll/runtime/node`. */
export interface LoopStore {
  /**
   * Locks the store until the returned function is called.
   * @throws {GuardError} `store_locked` if another process or call holds the lock.
   */
  claim?(): Promise<() => Promise<void>>;
  read(): Promise<LoopState | undefined> | LoopState | undefined;
  write(state: LoopState): Promise<void> | void;
}

/**
 * Stores the state in memory as JSON, so that values that JSON cannot hold are lost here too.
 * @example
 * const store = memoryLoopStore();
 */
export function memoryLoopStore(): LoopStore & { text: string | undefined } {
  return {
    text: undefined,
    read() {
      return this.text === undefined ? undefined : (JSON.parse(this.text) as LoopState);
    },
    write(state) {
      this.text = JSON.stringify(state);
    },
  };
}

/** Formats a handoff for the next context. */
export function continuationText(continuation: Continuation): string {
  const list = (title: string, items: readonly string[]) =>
    `${title}:\n${items.length === 0 ? "- nothing" : items.map((item) => `- ${item}`).join("\n")}`;
  return [
    list("Accomplished", continuation.accomplished),
    list("Remaining", continuation.remaining),
    list("Key findings", continuation.findings),
  ].join("\n");
}

/** Limits a handoff to about `maxChars` characters. Keeps the newest items of each list. */
export function boundContinuation(continuation: Continuation, maxChars: number): Continuation {
  const share = Math.floor(maxChars / 3);
  const bound = (items: readonly string[]) => {
    const kept: string[] = [];
    let left = share;
    for (const item of [...items].reverse()) {
      if (item.length > left && kept.length > 0) break;
      kept.unshift(clip(item, Math.max(40, left)));
      left -= item.length;
    }
    return kept;
  };
  return {
    accomplished: bound(continuation.accomplished),
    remaining: bound(continuation.remaining),
    findings: bound(continuation.findings),
  };
}
