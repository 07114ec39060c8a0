import { clip } from "../view/placeholder.ts";

/** Any value that survives `JSON.stringify`. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** What one context hands to the next. */
export interface Continuation {
  accomplished: readonly string[];
  remaining: readonly string[];
  findings: readonly string[];
}

/** Why a loop ended. */
export type LoopEnd =
  /** The goal is reached, said the tick. */
  | "done"
  /** The tick needs something that only a person can give. */
  | "blocked"
  | "iterations"
  | "cost"
  | "time"
  /** An iteration filled its context again and again without finishing anything. */
  | "no_progress"
  | "aborted"
  /** The tick failed more often in a row than allowed. */
  | "failed"
  /** The process ended inside one tick again and again: killed, out of memory, or by itself. */
  | "tick_crashes"
  /** No summary of what a tick left could be made, in as many attempts. */
  | "summary_failed";

/**
 * Where a loop stands between two steps. `running` at the start of a process means that the last one died inside a
 * tick; `yielded` that the tick ended and its summary was not written yet.
 */
export type LoopStep = "ready" | "running" | "yielded" | "finished";

/** What is known of the tick under way, should nobody be left to tell. Epoch ms. */
export interface RunningTick {
  since: number;
  /** When it was last heard of: its latest call of a model. */
  last: number;
  /** What its calls cost so far. */
  costUsd: number;
}

/** The loop's persistent state: one plain JSON document, written whole at each step. */
export interface LoopState {
  version: 1;
  loop: string;
  goal: string;
  step: LoopStep;
  /** Finished iterations. */
  iteration: number;
  /** Sub-tick of the present iteration, from 0. */
  sub: number;
  /** Sub-tick boundaries over all iterations. */
  boundaries: number;
  /** What the last sub-tick handed over; undefined at the start of an iteration. */
  continuation: Continuation | undefined;
  /** What the tick left for its summary, kept so that a crash before the summary loses nothing. */
  yielded: Json | undefined;
  /** Result of each finished iteration. */
  results: Json[];
  /** The harness's own state, across iterations. */
  data: Json;
  /** Tool state that outlives a context: what is needed to take it up again. */
  handles: Record<string, Json>;
  costUsd: number;
  /** Time spent inside ticks, ms. */
  elapsedMs: number;
  /** Failures of the tick in a row. */
  failures: number;
  /** Processes that ended inside the present tick. */
  crashes: number;
  /** Attempts at the summary that is due. */
  summaryTries: number;
  /** The present tick was begun before and did not return. */
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

/** Keeps one loop's state. `write` must be all or nothing: see `fileLoopStore` of `@plimsoll/guard/node`. */
export interface LoopStore {
  /**
   * Keeps others off from reading to the last write, and gives what lets them in again.
   * @throws {GuardError} `store_locked` when another has it.
   */
  claim?(): Promise<() => Promise<void>>;
  read(): Promise<LoopState | undefined> | LoopState | undefined;
  write(state: LoopState): Promise<void> | void;
}

/** Keeps the state in memory, as JSON: what would not survive a file does not survive here. */
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

/** The handoff as the next context reads it. */
export function continuationText(continuation: Continuation): string {
  const list = (title: string, items: readonly string[]) =>
    `${title}:\n${items.length === 0 ? "- nothing" : items.map((item) => `- ${item}`).join("\n")}`;
  return [
    list("Accomplished", continuation.accomplished),
    list("Remaining", continuation.remaining),
    list("Key findings", continuation.findings),
  ].join("\n");
}

/** Keeps a handoff small: the newest items of each list, each clipped. */
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
