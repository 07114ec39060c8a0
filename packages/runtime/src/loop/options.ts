import type { ObserveFacts, OptionNames } from "@plimsoll/guard/conversation";
import type { PlimsollEventInput } from "@plimsoll/protocol/pure";
import type { Handles } from "./handles.ts";
import type { Continuation, Json, LoopEnd, LoopStore } from "./state.ts";
import type { NextCall } from "./tick-budget.ts";

/** The result of a tick. */
export interface TickOutcome {
  /**
   * `next`: the iteration is finished. `yield`: the tick stopped because `overBudget` returned true, and it
   * continues in a fresh context. `done` and `blocked` end the loop.
   */
  status: "next" | "yield" | "done" | "blocked";
  /** Result of the iteration, stored in the loop's state. */
  result?: Json;
  /** On `yield`: the input of the summary, such as a transcript or notes. Stored until the summary is written. */
  notes?: Json;
  /** Cost of the tick in US dollars. Default: the sum of the costs given to `observe`. */
  costUsd?: number;
}

/** One run of the `tick` function, with its own context. */
export interface Tick {
  goal: string;
  loop: string;
  /** Iteration from 1. `sub` counts its sub-ticks from 0. */
  iteration: number;
  sub: number;
  /** Key of the session to run this tick in: `loop:<loop>:<iteration>.<sub>`. */
  sessionKey: string;
  /** The session's first prompt, with the goal, handoff and state. */
  prompt: string;
  /** The previous sub-tick's handoff; `undefined` at the start of an iteration. */
  continuation: Continuation | undefined;
  /** The harness's own state across iterations. Assign to change it; it is stored when the tick returns. */
  data: Json;
  /** Resources that outlive a context. */
  handles: Handles;
  /** True if this tick was interrupted before, so part of its work may already be done. */
  resumed: boolean;
  /** Aborts when the caller stops the loop. */
  signal: AbortSignal;
  /** Records the usage of each model call. The cost is stored at once, in case the process dies. */
  observe(usage: unknown, facts?: ObserveFacts): void;
  /**
   * Returns true if the next call would exceed `maxContextPct`. Ask before each call but the first; if it returns true,
   * return `yield` instead of making the call. The prediction adds the last answer, `next`, and room for an answer as
   * long as the longest so far. It learns from each observed call how many tokens a text has.
   * @param next what the call sends beyond the last prompt and its answer, as tokens, texts or messages. Default: as
   * much as the largest step of this tick.
   */
  overBudget(next?: NextCall): boolean;
  /** Returns the tokens that the next call may add, or `undefined` while the window size is unknown. */
  tokensLeft(): number | undefined;
}

/** Options of {@link runLoop}. */
export interface LoopOptions {
  goal: string;
  /** Id of the loop. Its events belong to the session `loop:<loop>`. */
  loop: string;
  /** The harness instance, such as `phantom@host-1`. */
  harness: string;
  /** Runs one tick. Called again for each iteration and sub-tick. */
  tick: (tick: Tick) => Promise<TickOutcome>;
  /**
   * Writes the continuation from the notes of a tick. Called again with the same notes if a process dies before the
   * continuation is stored. `observe` records the usage of its model calls.
   */
  summarize: (request: {
    goal: string;
    notes: Json;
    previous: Continuation | undefined;
    observe: (usage: unknown, facts?: ObserveFacts) => void;
  }) => Promise<Continuation>;
  /** Stores the loop's state, such as `fileLoopStore(path)`. */
  store: LoopStore;
  /** Share of the window that one tick may fill, in percent. Default: 15. */
  maxContextPct?: number;
  /** Window size in tokens. A size that the provider reports overrides it. */
  windowTokens?: number;
  /** Maximum number of iterations. Default: 20. */
  maxIterations?: number;
  /** Maximum cost in US dollars. Default: no limit. */
  maxCostUsd?: number;
  /** Maximum time in ticks and summaries, in ms. Default: no limit. */
  maxMs?: number;
  /**
   * Maximum number of sub-tick boundaries in one iteration; reaching it ends the loop as `no_progress`. Default: 50.
   */
  maxSubTicks?: number;
  /** Number of consecutive failed ticks to tolerate. Default: 0. */
  maxFailures?: number;
  /**
   * Number of process crashes in one tick that end the loop as `tick_crashes`, and number of attempts at one summary
   * that end it as `summary_failed`. Default: 3.
   */
  maxCrashes?: number;
  /**
   * Continues a loop that ended as `blocked`, `failed`, `no_progress`, `tick_crashes` or `summary_failed`. Set it
   * after fixing the cause. An aborted loop, or one whose limit was raised, continues without it; a `done` loop never
   * continues.
   */
  resume?: boolean;
  /** Whether `say` announces each new context to the user. Default: `silent`. */
  boundary?: "silent" | "visible";
  /** Receives text to show to the user. */
  say?: (text: string) => void;
  /** Called after each finished iteration. Sub-ticks are not reported here. */
  onIteration?: (progress: { iteration: number; result: Json | undefined; costUsd: number }) => void;
  /** Receives each event as it happens, such as `reporter.record`. */
  onEvent?: (event: PlimsollEventInput) => void;
  /** Initial `data` of a new loop. */
  data?: Json;
  /** Ends the loop as `aborted`. */
  signal?: AbortSignal;
  /** Current time in epoch ms. Default: `Date.now`. */
  clock?: () => number;
}

export const LOOP_OPTIONS: OptionNames<LoopOptions> = {
  goal: "required",
  loop: "required",
  harness: "required",
  tick: "required",
  summarize: "required",
  store: "required",
  maxContextPct: "optional",
  windowTokens: "optional",
  maxIterations: "optional",
  maxCostUsd: "optional",
  maxMs: "optional",
  maxSubTicks: "optional",
  maxFailures: "optional",
  maxCrashes: "optional",
  resume: "optional",
  boundary: "optional",
  say: "optional",
  onIteration: "optional",
  onEvent: "optional",
  data: "optional",
  signal: "optional",
  clock: "optional",
};

/** The result of {@link runLoop}. */
export interface LoopResult {
  end: LoopEnd;
  /** Number of finished iterations. */
  iterations: number;
  /** Number of sub-tick boundaries. */
  boundaries: number;
  /** The result of each iteration. */
  results: readonly Json[];
  data: Json;
  costUsd: number;
  /** Message of the last error, if any. */
  lastError: string | undefined;
}
