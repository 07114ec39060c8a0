import { Conversation, checkNames, type ObserveFacts } from "@plimsoll/guard/conversation";
import { CallForecast, estimateTokens } from "@plimsoll/guard/measure";
import { type EventBody, eventOf } from "@plimsoll/guard/report";
import type { PlimsollEventInput } from "@plimsoll/protocol/pure";
import { Handles } from "./handles.ts";
import { LOOP_OPTIONS, type LoopOptions, type LoopResult, type Tick, type TickOutcome } from "./options.ts";
import {
  boundContinuation,
  type Continuation,
  continuationText,
  type Json,
  type LoopEnd,
  type LoopState,
  newLoop,
  type RunningTick,
} from "./state.ts";
import { StateWriter } from "./state-writer.ts";
import { TickBudget } from "./tick-budget.ts";
import { tickPrompt } from "./tick-prompt.ts";

const MAX_HANDOFF_CHARS = 6_000;
const MAX_CRASHES = 3;
/** Ends after which the loop only continues with `resume: true`. */
const NEEDS_RESUME: ReadonlySet<LoopEnd | undefined> = new Set([
  "blocked",
  "failed",
  "no_progress",
  "tick_crashes",
  "summary_failed",
]);

/**
 * Runs one loop over as many contexts as it needs. Every step is stored before the next starts, so after a crash
 * another call with the same store continues the loop. A tick interrupted by a crash runs again with `resumed` set;
 * after `maxCrashes` crashes in one tick the loop ends. A finished iteration never runs again.
 * @throws {GuardError} `store_locked` if another process or call uses the store; `invalid_option`.
 * @throws Errors of the store and of `summarize`. The stored state stays valid, so the loop can continue.
 * @example
 * const { end, results } = await runLoop({
 *   goal: "Explore the codebase",
 *   loop: "explore-1",
 *   harness: "phantom@host-1",
 *   store: fileLoopStore("explore-1.json"),
 *   windowTokens: 100_000,
 *   tick: async (tick) => exploreSome(tick),
 *   summarize: async ({ notes }) => summarise(notes),
 * });
 */
export async function runLoop(options: LoopOptions): Promise<LoopResult> {
  checkNames(options, LOOP_OPTIONS);
  const release = await options.store.claim?.();
  try {
    const fresh = newLoop(options.loop, options.goal, options.data ?? null);
    return await new LoopRun(options, { ...fresh, ...(await options.store.read()) }).go();
  } finally {
    await release?.();
  }
}

class LoopRun {
  readonly #options: LoopOptions;
  readonly #state: LoopState;
  readonly #handles: Handles;
  readonly #clock: () => number;
  readonly #writer: StateWriter;
  readonly #forecast = new CallForecast();
  #events = 0;
  #window: number | undefined;

  constructor(options: LoopOptions, state: LoopState) {
    this.#options = options;
    this.#state = state;
    this.#clock = options.clock ?? Date.now;
    this.#window = options.windowTokens;
    this.#writer = new StateWriter(options.store, state);
    this.#handles = new Handles(state.handles, () => this.#writer.save());
  }

  async go(): Promise<LoopResult> {
    const state = this.#state;
    if (state.step === "finished" && this.#mayContinue()) {
      const step = state.yielded === undefined ? "ready" : "yielded";
      Object.assign(state, { step, end: undefined, failures: 0, crashes: 0, summaryTries: 0 });
    }
    if (state.step !== "finished") {
      this.#emit({ type: "session", status: "started", kind: "loop", title: state.goal });
    }
    if (state.step === "running") await this.#recoverTick();
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
      await this.#tick();
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

  /** Returns true if an ended loop may continue under the current options. */
  #mayContinue(): boolean {
    const { end } = this.#state;
    if (end === "done") return false;
    if (NEEDS_RESUME.has(end)) return this.#options.resume === true;
    return this.#ceiling() === undefined;
  }

  /** Handles a crash in the last tick. Its known time and cost still count. */
  async #recoverTick(): Promise<void> {
    const state = this.#state;
    this.#interruptTick();
    state.crashes += 1;
    if (state.crashes < this.#attempts()) return;
    state.lastError =
      `The process ended ${state.crashes} times during tick ${state.iteration + 1}.${state.sub}. Find the cause, such as ` +
      `memory, a signal or a call of exit. Then continue with resume: true.`;
    await this.#finish("tick_crashes");
  }

  #attempts(): number {
    return this.#options.maxCrashes ?? MAX_CRASHES;
  }

  /** Marks the current tick as interrupted, so that it runs again with `resumed` set. */
  #interruptTick(): void {
    const state = this.#state;
    const { since, last, costUsd } = state.running ?? { since: 0, last: 0, costUsd: 0 };
    state.elapsedMs += Math.max(0, last - since);
    state.costUsd += costUsd;
    state.running = undefined;
    state.interrupted = true;
    state.step = "ready";
  }

  async #tick(): Promise<void> {
    const state = this.#state;
    const { guard, tick, running } = this.#newTick(state.interrupted);
    if (state.iteration > 0 && state.sub === 0) {
      // A new iteration starts empty. The fixed id keeps a repeated event from counting twice.
      const id = `iteration-${state.loop}-${state.iteration + 1}`;
      this.#emit({ type: "cleared", id, reason: `iteration ${state.iteration + 1} begins` });
    }
    state.step = "running";
    state.running = running;
    await this.#writer.save();
    running.since = this.#clock();
    let outcome: TickOutcome;
    try {
      outcome = await this.#options.tick(tick);
    } catch (error) {
      running.last = this.#clock();
      // A failed tick costs money too.
      this.#interruptTick();
      // A tick that stops after an abort did not fail.
      if (this.#options.signal?.aborted === true) await this.#writer.save();
      else await this.#tickFailed(error);
      return;
    }
    state.elapsedMs += Math.max(0, this.#clock() - running.since);
    state.costUsd += outcome.costUsd ?? running.costUsd;
    state.data = tick.data;
    Object.assign(state, { failures: 0, crashes: 0, interrupted: false, running: undefined });
    this.#window = guard.read().windowTokens ?? this.#window;
    if (outcome.status === "yield") {
      state.step = "yielded";
      state.yielded = { notes: outcome.notes ?? null, tokens: guard.state.level ?? 0 };
      await this.#writer.save();
      return;
    }
    if (outcome.status !== "blocked") {
      state.iteration += 1;
      state.results.push(outcome.result ?? null);
      state.sub = 0;
      state.continuation = undefined;
    }
    state.step = "ready";
    if (outcome.status === "next") await this.#writer.save();
    else await this.#finish(outcome.status);
    if (outcome.status !== "blocked") {
      const { iteration, costUsd } = state;
      this.#options.onIteration?.({ iteration, result: outcome.result, costUsd });
    }
  }

  async #tickFailed(error: unknown): Promise<void> {
    const state = this.#state;
    state.failures += 1;
    state.crashes = 0;
    state.interrupted = false;
    state.lastError = messageOf(error);
    if (state.failures > (this.#options.maxFailures ?? 0)) await this.#finish("failed");
    else await this.#writer.save();
  }

  async #summarise(): Promise<void> {
    const state = this.#state;
    const { notes, tokens } = state.yielded as { notes: Json; tokens: number };
    const previous = state.continuation;
    if (state.summaryTries >= this.#attempts()) {
      const why = state.lastError === undefined ? "" : ` Last error: ${state.lastError}`;
      state.lastError = `summarize failed ${state.summaryTries} times for the same tick.${why}`;
      await this.#finish("summary_failed");
      return;
    }
    // Store the attempt first, so that a crash counts as an attempt.
    state.summaryTries += 1;
    await this.#writer.save();
    const made = await this.#summary(notes);
    state.summaryTries = 0;
    const continuation = boundContinuation(made, MAX_HANDOFF_CHARS);
    const stuck = previous !== undefined && JSON.stringify(previous) === JSON.stringify(continuation);
    const handoff = Math.ceil(estimateTokens(continuationText(continuation)));
    state.sub += 1;
    state.boundaries += 1;
    state.continuation = continuation;
    state.yielded = undefined;
    state.step = "ready";
    const visible = this.#options.boundary === "visible";
    // Emit before storing: after a crash it is sent again with the same id and counted once.
    this.#emit({
      type: "subtick",
      id: `subtick-${state.loop}-${state.iteration + 1}.${state.sub}`,
      loop: state.loop,
      tick: state.iteration + 1,
      sub: state.sub,
      tokens_before: tokens,
      handoff_tokens: handoff,
      reason: `max_context_pct ${this.#share()}`,
      visible,
    });
    const max = this.#options.maxSubTicks ?? 50;
    if (stuck || state.sub >= max) await this.#finish("no_progress");
    else await this.#writer.save();
    if (visible) {
      this.#options.say?.(
        `Continuing iteration ${state.iteration + 1} in a fresh context (part ${state.sub + 1}): ${state.continuation.remaining.length} item(s) remain.`,
      );
    }
  }

  /** Calls `summarize`. Its time and cost count even if it fails. */
  async #summary(notes: Json): Promise<Continuation> {
    const state = this.#state;
    const guard = this.#guard();
    const began = this.#clock();
    const observe = (usage: unknown, facts?: ObserveFacts) => {
      const { kind } = guard.observe(usage, { ...facts, purpose: "compaction" });
      if (kind === "other") state.costUsd += facts?.costUsd ?? 0;
    };
    const spent = () => {
      state.elapsedMs += Math.max(0, this.#clock() - began);
    };
    try {
      const { goal, continuation: previous } = state;
      const made = await this.#options.summarize({ goal, notes, previous, observe });
      spent();
      return made;
    } catch (error) {
      spent();
      state.lastError = messageOf(error);
      // The attempt is already stored, so report the summary's error rather than the store's.
      await this.#writer.save().catch(() => {});
      throw error;
    }
  }

  /** Creates the guard that measures one tick or summary. Every sub-tick has its own window. */
  #guard(): Conversation {
    const state = this.#state;
    const options = this.#options;
    return new Conversation({
      identity: { harness: options.harness, session: `loop:${state.loop}` },
      policy: {
        thresholds: { warning: null, ceiling: `${this.#share()}%`, soft: null, hard: null },
        mode: "warn_only",
      },
      clock: this.#clock,
      ...(this.#window === undefined ? {} : { window: this.#window }),
      onEvent: (event) =>
        options.onEvent?.({
          ...event,
          id: event.type === "turn" ? event.id : `${state.iteration}.${state.sub}-${event.id}`,
          window: state.iteration + state.boundaries,
        } as PlimsollEventInput),
    });
  }

  #share(): number {
    return this.#options.maxContextPct ?? 15;
  }

  #newTick(resumed: boolean): { guard: Conversation; tick: Tick; running: RunningTick } {
    const state = this.#state;
    const options = this.#options;
    const iteration = state.iteration + 1;
    const guard = this.#guard();
    const now = this.#clock();
    const running: RunningTick = { since: now, last: now, costUsd: 0 };
    const prompt = tickPrompt(state, resumed);
    const budget = new TickBudget(guard, this.#forecast, prompt, `${this.#share()}%`);
    const tick: Tick = {
      goal: state.goal,
      loop: state.loop,
      iteration,
      sub: state.sub,
      sessionKey: `loop:${state.loop}:${iteration}.${state.sub}`,
      prompt,
      continuation: state.continuation,
      data: structuredClone(state.data),
      handles: this.#handles,
      resumed,
      signal: options.signal ?? new AbortController().signal,
      observe: (usage, facts) => {
        const { kind } = guard.observe(usage, facts);
        if (kind === "turn" || kind === "merged") budget.observed(kind === "merged");
        if (kind === "turn" || kind === "other") running.costUsd += facts?.costUsd ?? 0;
        running.last = this.#clock();
        this.#writer.saveSoon();
      },
      overBudget: (next) => budget.isOver(next),
      tokensLeft: () => budget.left(),
    };
    return { guard, tick, running };
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
    // Emit before storing, as at a boundary. Store before closing handles, because closing may fail and finished work
    // must not run again.
    this.#emit({ type: "session", status: "ended", kind: "loop", reason: end });
    await this.#writer.save();
    try {
      await this.#handles.close();
    } catch (error) {
      state.lastError = messageOf(error);
    }
    await this.#writer.save();
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
