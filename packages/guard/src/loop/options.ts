import type { PlimsollEventInput } from "@plimsoll/protocol/pure";
import type { ObserveFacts } from "../types.ts";
import type { Handles } from "./handles.ts";
import type { Continuation, Json, LoopEnd, LoopStore } from "./state.ts";

/** What a tick says when it returns. */
export interface TickOutcome {
  /**
   * `next`: this iteration is finished. `yield`: it stopped because `overBudget()` said so and continues in a fresh
   * context. `done` and `blocked` end the loop.
   */
  status: "next" | "yield" | "done" | "blocked";
  /** Result of the iteration; kept in the loop's state. */
  result?: Json;
  /** What the summary is to be made of, on `yield`: a transcript, notes. Kept until the summary is written. */
  notes?: Json;
  /** What the tick cost; the sum of what `observe` was told when left out. */
  costUsd?: number;
}

export interface Tick {
  goal: string;
  loop: string;
  /** Iteration, from 1, and sub-tick within it, from 0. */
  iteration: number;
  sub: number;
  /** Key of the fresh session to run this in: `loop:<loop>:<iteration>.<sub>`. */
  sessionKey: string;
  /** Goal, handoff and state as one prompt for the fresh session. */
  prompt: string;
  continuation: Continuation | undefined;
  /** The harness's state across iterations; assign to change it. Stored when the tick returns. */
  data: Json;
  handles: Handles;
  /** This very tick was cut off before, as its process died or was told to stop: some of its work may be done. */
  resumed: boolean;
  signal: AbortSignal;
  /** Takes the usage of each call of this tick; what it cost is stored, should the process die in the tick. */
  observe(usage: unknown, facts?: ObserveFacts): void;
  /** The tick's context has reached its share: finish the step at hand and return `yield`. */
  overBudget(): boolean;
  /** Tokens this tick may still use; undefined while the window size is unknown. */
  tokensLeft(): number | undefined;
}

export interface LoopOptions {
  goal: string;
  /** Id of the loop; names its session in the events. */
  loop: string;
  harness: string;
  tick: (tick: Tick) => Promise<TickOutcome>;
  /**
   * Makes the continuation summary out of what the tick left. Called again with the same notes when a process died
   * before the summary was written. `observe` takes the usage of its calls.
   */
  summarize: (request: {
    goal: string;
    notes: Json;
    previous: Continuation | undefined;
    observe: (usage: unknown, facts?: ObserveFacts) => void;
  }) => Promise<Continuation>;
  store: LoopStore;
  /** Share of the window one tick may fill, in percent, as in the loop's configuration. */
  maxContextPct?: number;
  /** Window size, tokens; what the provider reports wins. */
  windowTokens?: number;
  maxIterations?: number;
  maxCostUsd?: number;
  /** Time inside ticks and summaries, ms. */
  maxMs?: number;
  /** Most contexts one iteration may use without finishing. */
  maxSubTicks?: number;
  maxFailures?: number;
  /**
   * Most processes that may end inside one tick before the loop stops with `tick_crashes`, and most attempts at one
   * summary before it stops with `summary_failed`; 3 unless said.
   */
  maxCrashes?: number;
  /**
   * Goes on where the loop stopped as `blocked`, `failed`, `no_progress`, `tick_crashes` or `summary_failed`: whoever
   * says so has dealt with the cause. What was aborted, or stopped at a ceiling that is higher now, goes on without it; `done` never.
   */
  resume?: boolean;
  /** Whether the person sees that a new context began. */
  boundary?: "silent" | "visible";
  say?: (text: string) => void;
  /** After each finished iteration. Sub-ticks do not show: from outside it is one loop. */
  onIteration?: (progress: { iteration: number; result: Json | undefined; costUsd: number }) => void;
  onEvent?: (event: PlimsollEventInput) => void;
  data?: Json;
  signal?: AbortSignal;
  /** Epoch ms. */
  clock?: () => number;
}

export interface LoopResult {
  end: LoopEnd;
  iterations: number;
  boundaries: number;
  results: readonly Json[];
  data: Json;
  costUsd: number;
  lastError: string | undefined;
}
