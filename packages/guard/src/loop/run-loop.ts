import type { PlimsollEventInput } from "@plimsoll/protocol/pure";
import { thresholdTokens } from "@plimsoll/protocol/pure";
import { type EventBody, eventOf } from "../events.ts";
import { ContextGuard } from "../guard.ts";
import { estimateTokens } from "../measure/estimate.ts";
import type { ObserveFacts } from "../types.ts";
import { Handles } from "./handles.ts";
import {
  boundContinuation,
  type Continuation,
  continuationText,
  type Json,
  type LoopEnd,
  type LoopState,
  type LoopStore,
  newLoop,
} from "./state.ts";

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
  /** A process died inside this very tick: some of its work may be done already. */
  resumed: boolean;
  signal: AbortSignal;
  /** Takes the usage of each call of this tick. */
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
   * before the summary was written.
   */
  summarize: (request: {
    goal: string;
    notes: Json;
    previous: Continuation | undefined;
  }) => Promise<Continuation>;
  store: LoopStore;
  /** Share of the window one tick may fill, in percent, as in the loop's configuration. */
  maxContextPct?: number;
  /** Window size, tokens; what the provider reports wins. */
  windowTokens?: number;
  maxIterations?: number;
  maxCostUsd?: number;
  /** Time inside ticks, ms. */
  maxMs?: number;
  /** Most contexts one iteration may use without finishing. */
  maxSubTicks?: number;
  maxFailures?: number;
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

const MAX_HANDOFF_CHARS = 6_000;

/**
 * Runs a loop over as many contexts as it needs, as one. Every step is stored before the next begins, so a process
 * that dies anywhere is continued by calling this again with the same store. A tick that died half way runs again,
 * told so by `resumed`; a finished iteration never does.
 * @throws what the store or `summarize` throws; the stored state stays valid and the loop can be continued.
 */
export async function runLoop(options: LoopOptions): Promise<LoopResult> {
  const run = new LoopRun(
    options,
    (await options.store.read()) ?? newLoop(options.loop, options.goal, options.data ?? null),
  );
  return run.go();
}

class LoopRun {
  readonly #options: LoopOptions;
  readonly #state: LoopState;
  readonly #handles: Handles;
  readonly #clock: () => number;
  #events = 0;
  #saving: Promise<void> = Promise.resolve();
  #window: number | undefined;

  constructor(options: LoopOptions, state: LoopState) {
    this.#options = options;
    this.#state = state;
    this.#clock = options.clock ?? Date.now;
    this.#window = options.windowTokens;
    this.#handles = new Handles(state.handles, () => this.#save());
  }

  async go(): Promise<LoopResult> {
    const state = this.#state;
    let resumed = state.step === "running";
    if (state.step !== "finished") {
      this.#emit({ type: "session", status: "started", kind: "loop", title: state.goal });
    }
    while (state.step !== "finished") {
      if (state.step === "yielded") {
        await this.#summarise();
        continue;
      }
      const end = this.#ceiling();
      if (end !== undefined) {
        await this.#finish(end);
        break;
      }
      await this.#tick(resumed);
      resumed = false;
    }
    return {
      end: state.end ?? "done",
      iterations: state.iteration,
      boundaries: state.boundaries,
      results: state.results,
      data: state.data,
      costUsd: state.costUsd,
      lastError: state.lastError,
    };
  }

  async #tick(resumed: boolean): Promise<void> {
    const state = this.#state;
    const { guard, tick, spent } = this.#newTick(resumed);
    if (state.iteration > 0 && state.sub === 0) {
      // A new iteration begins empty too. After a crash it is said again under the same id, and counted once.
      const id = `iteration-${state.loop}-${state.iteration + 1}`;
      this.#emit({ type: "cleared", id, reason: `iteration ${state.iteration + 1} begins` });
    }
    state.step = "running";
    await this.#save();
    const began = this.#clock();
    let outcome: TickOutcome;
    try {
      outcome = await this.#options.tick(tick);
    } catch (error) {
      // It failed, and was paid for all the same.
      state.costUsd += spent();
      await this.#tickFailed(error, began);
      return;
    }
    state.elapsedMs += Math.max(0, this.#clock() - began);
    state.costUsd += outcome.costUsd ?? spent();
    state.data = tick.data;
    state.failures = 0;
    this.#window = guard.read().windowTokens ?? this.#window;
    if (outcome.status === "yield") {
      state.step = "yielded";
      state.yielded = { notes: outcome.notes ?? null, tokens: guard.state.level ?? 0 };
      await this.#save();
      return;
    }
    if (outcome.status !== "blocked") {
      state.iteration += 1;
      state.results.push(outcome.result ?? null);
      state.sub = 0;
      state.continuation = undefined;
    }
    state.step = "ready";
    if (outcome.status === "next") await this.#save();
    else await this.#finish(outcome.status);
    if (outcome.status !== "blocked") {
      const { iteration, costUsd } = state;
      this.#options.onIteration?.({ iteration, result: outcome.result, costUsd });
    }
  }

  async #tickFailed(error: unknown, began: number): Promise<void> {
    const state = this.#state;
    state.elapsedMs += Math.max(0, this.#clock() - began);
    state.failures += 1;
    state.lastError = messageOf(error);
    state.step = "ready";
    if (state.failures > (this.#options.maxFailures ?? 0)) await this.#finish("failed");
    else await this.#save();
  }

  async #summarise(): Promise<void> {
    const state = this.#state;
    const { notes, tokens } = state.yielded as { notes: Json; tokens: number };
    const previous = state.continuation;
    const made = await this.#options.summarize({ goal: state.goal, notes, previous });
    const continuation = boundContinuation(made, MAX_HANDOFF_CHARS);
    const stuck = previous !== undefined && JSON.stringify(previous) === JSON.stringify(continuation);
    const handoff = Math.ceil(estimateTokens(continuationText(continuation)));
    state.sub += 1;
    state.boundaries += 1;
    state.continuation = continuation;
    state.yielded = undefined;
    state.step = "ready";
    const visible = this.#options.boundary === "visible";
    // Sent before it is stored: after a crash it is sent again under the same id, and counted once.
    this.#emit({
      type: "subtick",
      id: `subtick-${state.loop}-${state.iteration + 1}.${state.sub}`,
      loop: state.loop,
      tick: state.iteration + 1,
      sub: state.sub,
      tokens_before: tokens,
      handoff_tokens: handoff,
      reason: `max_context_pct ${this.#options.maxContextPct ?? 15}`,
      visible,
    });
    const most = this.#options.maxSubTicks ?? 50;
    if (stuck || state.sub >= most) await this.#finish("no_progress");
    else await this.#save();
    if (visible) {
      this.#options.say?.(
        `Continuing iteration ${state.iteration + 1} in a fresh context (part ${state.sub + 1}): ${state.continuation.remaining.length} item(s) remain.`,
      );
    }
  }

  #newTick(resumed: boolean): { guard: ContextGuard; tick: Tick; spent: () => number } {
    const state = this.#state;
    const options = this.#options;
    const iteration = state.iteration + 1;
    const share = options.maxContextPct ?? 15;
    const guard = new ContextGuard({
      identity: { harness: options.harness, session: `loop:${state.loop}` },
      policy: {
        thresholds: { warning: null, ceiling: `${share}%`, soft: null, hard: null },
        mode: "warn_only",
      },
      clock: this.#clock,
      ...(this.#window === undefined ? {} : { window: this.#window }),
      // Every iteration and every sub-tick has a window of its own.
      onEvent: (event) =>
        options.onEvent?.({
          ...event,
          id: event.type === "turn" ? event.id : `${state.iteration}.${state.sub}-${event.id}`,
          window: state.iteration + state.boundaries,
        } as PlimsollEventInput),
    });
    let spent = 0;
    const limit = () => thresholdTokens("ceiling", `${share}%`, guard.read().windowTokens);
    const tick: Tick = {
      goal: state.goal,
      loop: state.loop,
      iteration,
      sub: state.sub,
      sessionKey: `loop:${state.loop}:${iteration}.${state.sub}`,
      prompt: promptOf(state, resumed),
      continuation: state.continuation,
      data: structuredClone(state.data),
      handles: this.#handles,
      resumed,
      signal: options.signal ?? new AbortController().signal,
      observe: (usage, facts) => {
        const { kind } = guard.observe(usage, facts);
        if (kind === "turn" || kind === "other") spent += facts?.costUsd ?? 0;
      },
      overBudget: () => {
        const tokens = limit();
        return tokens !== undefined && (guard.state.level ?? 0) >= tokens;
      },
      tokensLeft: () => {
        const tokens = limit();
        return tokens === undefined ? undefined : Math.max(0, tokens - (guard.state.level ?? 0));
      },
    };
    return { guard, tick, spent: () => spent };
  }

  #ceiling(): LoopEnd | undefined {
    const { iteration, costUsd, elapsedMs } = this.#state;
    const options = this.#options;
    if (options.signal?.aborted === true) return "aborted";
    if (iteration >= (options.maxIterations ?? 20)) return "iterations";
    if (options.maxCostUsd !== undefined && costUsd >= options.maxCostUsd) return "cost";
    if (options.maxMs !== undefined && elapsedMs >= options.maxMs) return "time";
    return undefined;
  }

  async #finish(end: LoopEnd): Promise<void> {
    const state = this.#state;
    state.step = "finished";
    state.end = end;
    // Sent before it is stored, as at a boundary. Stored before anything is closed: closing takes time and may fail,
    // and what is done must not be done again for that.
    this.#emit({ type: "session", status: "ended", kind: "loop", reason: end });
    await this.#save();
    try {
      await this.#handles.close();
    } catch (error) {
      state.lastError = messageOf(error);
    }
    await this.#save();
  }

  /** One write after the other: of two at once the older could come to lie on top. */
  #save(): Promise<void> {
    const next = this.#saving.then(() => this.#options.store.write(this.#state));
    this.#saving = next.catch(() => {});
    return next;
  }

  #emit(body: EventBody): void {
    const identity = { harness: this.#options.harness, session: `loop:${this.#state.loop}` };
    this.#events += 1;
    this.#options.onEvent?.(eventOf(identity, this.#clock(), undefined, this.#events, body));
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function promptOf(state: LoopState, resumed: boolean): string {
  const parts = [`Goal: ${state.goal}`];
  if (state.continuation !== undefined) {
    parts.push(
      `You are continuing work begun in an earlier context.\n${continuationText(state.continuation)}`,
    );
  }
  parts.push(`Iteration ${state.iteration + 1}. Results so far: ${state.results.length}.`);
  if (state.data !== null) parts.push(`State: ${JSON.stringify(state.data).slice(0, 4_000)}`);
  if (resumed) parts.push("The previous attempt at this step was cut off: check what is already done.");
  return parts.join("\n\n");
}
