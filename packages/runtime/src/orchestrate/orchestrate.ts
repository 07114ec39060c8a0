import { Conversation, type ObserveFacts } from "@plimsoll/guard/conversation";
import { type EventBody, eventOf } from "@plimsoll/guard/report";
import type { PlimsollEventInput, WindowLookup } from "@plimsoll/protocol/pure";
import { Manager } from "./manager.ts";
import { completionReport, contextWarning, handoffText, progressTable } from "./run-report.ts";
import {
  type SplitRequest,
  splitNotice,
  subPhasesOf,
  type TooLarge,
  tooLarge,
  type WorkSize,
} from "./split.ts";
import { applyEdits, type Edit, newPhase, type PhaseRecord, type RunState, type RunStore } from "./state.ts";

/** The result of a phase-runner. The orchestrator only receives `summary`, not the work itself. */
export type PhaseOutcome =
  | { status: "completed" | "failed" | "needs_human"; score?: number; summary: string }
  | ({ status: "split_request" } & SplitRequest);

/** The result of a verification. `score` and `summary` replace the runner's own. */
export interface Verdict {
  passed: boolean;
  score?: number;
  summary?: string;
}

/** What a phase-runner receives. */
export interface PhaseContext {
  id: string;
  name: string;
  scope: string;
  issues: readonly string[];
  /** False if the work has been split as often as allowed and must be done as a whole. */
  maySplit: boolean;
  /** True if an earlier process started this phase and died. */
  resumed: boolean;
  /** Records the usage of each model call of this runner, which has its own window. */
  observe(usage: unknown, facts?: ObserveFacts): void;
  /** Returns why the work should be split, or `undefined` if it fits or may not be split. */
  tooLarge(size: WorkSize): TooLarge;
  /** Aborts when the run is paused. */
  signal: AbortSignal;
}

/** Options of {@link orchestrate}. */
export interface OrchestrateOptions {
  /** Id of the run; also its session in the events. */
  run: string;
  /** Title on the dashboard. Default: the run's id. */
  title?: string;
  /** The harness instance, such as `autopilot@host-1`. */
  harness: string;
  phases: readonly { id: string; name: string; scope?: string }[];
  /** Runs one phase or sub-phase. */
  runPhase: (phase: PhaseContext) => Promise<PhaseOutcome>;
  /** Verifies each completed phase and sub-phase. Without it, the runner's own result counts. */
  verify?: (phase: PhaseContext, outcome: { score: number | null; summary: string }) => Promise<Verdict>;
  /** Stores the run's state, such as `fileRunStore(path)`. */
  store: RunStore;
  /** Writes a handoff, called when the run is paused and when the orchestrator's context passes 90 %. */
  writeHandoff?: (text: string) => Promise<void> | void;
  /** Counts what the orchestrator takes in, including the runners' summaries. Give the same manager to its tools. */
  manager?: Manager;
  /** The orchestrator's window. `manager` counts the tokens in it. */
  window?: { tokens: number };
  /** The runners' window size in tokens, or a lookup by model name. */
  runnerWindow?: number | WindowLookup;
  /** Maximum number of sub-phases at once. Default: all of them. */
  concurrency?: number;
  /** Maximum depth of nested splits. Default: 2. */
  maxDepth?: number;
  /** Receives progress tables and notices for the user. */
  say?: (text: string) => void;
  /** Receives each event as it happens, such as `reporter.record`. */
  onEvent?: (event: PlimsollEventInput) => void;
  /** Pauses the run. */
  signal?: AbortSignal;
  /** Current time in epoch ms. Default: `Date.now`. */
  clock?: () => number;
}

/** The result of {@link orchestrate}. */
export interface OrchestrateResult {
  status: RunState["status"];
  state: RunState;
  /** Markdown table of all phases, with sub-phases inline. */
  report: string;
}

/**
 * Runs phases one after another. The orchestrator only holds names, scores and statuses; runners do the work. A phase
 * that asks to be split runs as parallel sub-phases without confirmation. Another call with the same store continues
 * the run without repeating finished phases. A high context level never stops it.
 * @throws {GuardError} `store_locked` if another process or call uses the store.
 * @throws Errors of the store.
 * @example
 * const { status, report } = await orchestrate({
 *   run: "release-3",
 *   harness: "autopilot@host-1",
 *   phases: [{ id: "20", name: "Fixes" }],
 *   store: fileRunStore("state.json"),
 *   runPhase: async (phase) => ({ status: "completed", summary: await work(phase) }),
 * });
 */
export async function orchestrate(options: OrchestrateOptions): Promise<OrchestrateResult> {
  const release = await options.store.claim?.();
  try {
    return await new OrchestratorRun(options).go();
  } finally {
    await release?.();
  }
}

class OrchestratorRun {
  readonly #options: OrchestrateOptions;
  readonly #manager: Manager;
  readonly #clock: () => number;
  readonly #signal: AbortSignal;
  #state!: RunState;
  #saving: Promise<void> = Promise.resolve();
  #events = 0;

  constructor(options: OrchestrateOptions) {
    this.#options = options;
    this.#clock = options.clock ?? Date.now;
    this.#signal = options.signal ?? new AbortController().signal;
    this.#manager = options.manager ?? new Manager();
  }

  async go(): Promise<OrchestrateResult> {
    const { run, title = run, phases } = this.#options;
    const stored = await this.#options.store.read();
    this.#state = stored ?? {
      version: 1,
      run,
      status: "running",
      orchestratorPct: null,
      warned: 0,
      phases: Object.fromEntries(phases.map(({ id, name }) => [id, newPhase(id, name)])),
    };
    await this.#edit(
      stored === undefined ? [{ path: [], value: this.#state }] : [{ path: ["status"], value: "running" }],
    );
    this.#emit("main", { type: "session", status: "started", kind: "phase", title });
    for (const { id, name, scope } of phases) {
      if (this.#signal.aborted) return this.#end("paused");
      if (this.#state.phases[id] === undefined) {
        await this.#edit([{ path: ["phases", id], value: newPhase(id, name) }]);
      }
      if (scope !== undefined && this.#state.phases[id]!.scope === "") {
        await this.#edit([{ path: ["phases", id, "scope"], value: scope }]);
      }
      await this.#phase(id, 0);
      this.#options.say?.(progressTable(this.#state));
    }
    if (this.#signal.aborted) return this.#end("paused");
    const failed = phases.some(({ id }) => this.#state.phases[id]!.status !== "completed");
    return this.#end(failed ? "failed" : "completed");
  }

  async #end(status: RunState["status"]): Promise<OrchestrateResult> {
    await this.#edit([{ path: ["status"], value: status }]);
    if (status === "paused") await this.#options.writeHandoff?.(handoffText(this.#state));
    this.#emit("main", { type: "session", status: "ended", kind: "phase", reason: status });
    return { status, state: this.#state, report: completionReport(this.#state) };
  }

  async #phase(id: string, depth: number): Promise<PhaseRecord> {
    const before = this.#record(id);
    if (before.status === "completed" || before.status === "needs_human") return before;
    if (before.split.length > 0) return this.#subPhases(id, depth);
    const began = this.#clock();
    const resumed = before.status === "running";
    await this.#edit([{ path: ["phases", id, "status"], value: "running" }]);
    this.#emit(id, { type: "phase", phase: id, status: "running", ...parentOf(before) });
    const maySplit = depth < (this.#options.maxDepth ?? 2);
    const { context, guard } = this.#context(before, maySplit, resumed);
    const outcome = await this.#attempt(context, maySplit);
    if (outcome === undefined) return this.#record(id);
    if (outcome.status === "split_request") {
      await this.#split(id, outcome, guard, this.#clock() - began);
      return this.#subPhases(id, depth);
    }
    const verdict = await this.#verify(context, outcome);
    if (verdict === undefined) return this.#record(id);
    await this.#settle(id, { ...verdict, contextPct: pctOf(guard), durationMs: this.#clock() - began });
    return this.#record(id);
  }

  /** Runs a phase. An error fails the phase, not the run. */
  async #attempt(context: PhaseContext, maySplit: boolean): Promise<PhaseOutcome | undefined> {
    try {
      const outcome = await this.#options.runPhase(context);
      if (outcome.status !== "split_request") return outcome;
      if (!maySplit) return { status: "failed", summary: "requested a split beyond maxDepth" };
      if (outcome.subPhases.length === 0)
        return { status: "failed", summary: "requested a split without sub-phases" };
      return outcome;
    } catch (error) {
      // A phase that stops after an abort did not fail; it stays running, and the next run resumes it.
      if (this.#signal.aborted) return undefined;
      return { status: "failed", summary: messageOf(error) };
    }
  }

  async #verify(
    context: PhaseContext,
    outcome: Exclude<PhaseOutcome, { status: "split_request" }>,
  ): Promise<Pick<PhaseRecord, "status" | "score" | "summary"> | undefined> {
    const score = outcome.score ?? null;
    const { verify } = this.#options;
    if (outcome.status !== "completed" || verify === undefined) {
      return { status: outcome.status, score, summary: outcome.summary };
    }
    try {
      const verdict = await verify(context, { score, summary: outcome.summary });
      return {
        status: verdict.passed ? "completed" : "failed",
        score: verdict.score ?? score,
        summary: verdict.summary ?? outcome.summary,
      };
    } catch (error) {
      if (this.#signal.aborted) return undefined;
      return {
        status: "failed",
        score,
        summary: `verification failed: ${messageOf(error)}`,
      };
    }
  }

  async #split(id: string, request: SplitRequest, guard: Conversation, durationMs: number): Promise<void> {
    const taken = (one: string) =>
      this.#state.phases[one] !== undefined || this.#options.phases.some((phase) => phase.id === one);
    const subs = subPhasesOf(id, request, taken);
    this.#options.say?.(splitNotice(id, request));
    this.#emit(id, {
      type: "split_requested",
      id: `splitting-${this.#options.run}-${id}`,
      phase: id,
      reason: request.rationale,
      sub_phases: subs.map(({ id, name, scope, issues }) => ({ id, name, scope, issues: [...issues] })),
    });
    // Write the whole split at once, so that a crash cannot record only some sub-phases.
    await this.#edit([
      { path: ["phases", id, "split"], value: subs.map((sub) => sub.id) },
      { path: ["phases", id, "contextPct"], value: pctOf(guard) },
      { path: ["phases", id, "durationMs"], value: durationMs },
      ...subs.map((sub) => ({ path: ["phases", sub.id], value: newPhase(sub.id, sub.name, sub, id) })),
    ]);
  }

  async #subPhases(id: string, depth: number): Promise<PhaseRecord> {
    const began = this.#clock();
    const { split, durationMs } = this.#record(id);
    const results = await inParallel(split, this.#options.concurrency ?? split.length, (sub) =>
      this.#signal.aborted ? Promise.resolve(this.#record(sub)) : this.#phase(sub, depth + 1),
    );
    const open = ({ status }: PhaseRecord) => status === "pending" || status === "running";
    if (results.some(open)) return this.#record(id);
    const scores = results.map((sub) => sub.score).filter((score) => score !== null);
    const status = results.every((sub) => sub.status === "completed")
      ? "completed"
      : results.some((sub) => sub.status === "needs_human")
        ? "needs_human"
        : "failed";
    // Emit before storing: after a crash it is sent again with the same id and counted once.
    this.#emit(id, {
      type: "split_resolved",
      id: `split-${this.#options.run}-${id}-${status}`,
      phase: id,
      status,
      sub_phases: results.map((sub) => ({
        id: sub.id,
        status: sub.status,
        score: sub.score,
        summary: sub.summary,
      })),
    });
    const done = results.filter((sub) => sub.status === "completed").length;
    await this.#settle(id, {
      status,
      score: scores.length === 0 ? null : scores.reduce((sum, score) => sum + score, 0) / scores.length,
      summary: `${done} of ${results.length} sub-phases completed`,
      contextPct: this.#record(id).contextPct,
      durationMs: durationMs + this.#clock() - began,
    });
    return this.#record(id);
  }

  async #settle(
    id: string,
    result: Pick<PhaseRecord, "status" | "score" | "summary" | "contextPct" | "durationMs">,
  ): Promise<void> {
    const summary = this.#manager.note(result.summary);
    const edits: Edit[] = Object.entries({ ...result, summary }).map(([key, value]) => ({
      path: ["phases", id, key],
      value,
    }));
    edits.push(...(await this.#ownLevel()));
    const { status, score } = result;
    this.#emit(id, { type: "phase", phase: id, status, score, ...parentOf(this.#record(id)) });
    await this.#edit(edits);
  }

  /** Updates the orchestrator's own level. A high level is reported but never stops work. */
  async #ownLevel(): Promise<Edit[]> {
    const { window } = this.#options;
    if (window === undefined) return [];
    const pct = Math.round((this.#manager.tokens / window.tokens) * 100);
    const edits: Edit[] = [{ path: ["orchestratorPct"], value: pct }];
    const step = pct >= 90 ? 90 : pct >= 70 ? 70 : 0;
    if (step > this.#state.warned) {
      this.#options.say?.(contextWarning(pct)!);
      if (step === 90) await this.#options.writeHandoff?.(handoffText(this.#state));
      edits.push({ path: ["warned"], value: step });
    }
    return edits;
  }

  #context(
    record: PhaseRecord,
    maySplit: boolean,
    resumed: boolean,
  ): { context: PhaseContext; guard: Conversation } {
    const guard = new Conversation({
      identity: {
        harness: this.#options.harness,
        session: this.#options.run,
        agent: record.id,
        parentAgent: record.parent ?? "main",
      },
      policy: { mode: "warn_only" },
      clock: this.#clock,
      ...(this.#options.runnerWindow === undefined ? {} : { window: this.#options.runnerWindow }),
      ...(this.#options.onEvent === undefined ? {} : { onEvent: this.#options.onEvent }),
    });
    const context: PhaseContext = {
      id: record.id,
      name: record.name,
      scope: record.scope,
      issues: record.issues,
      maySplit,
      resumed,
      observe: (usage, facts) => void guard.observe(usage, facts),
      tooLarge: (size) => (maySplit ? tooLarge(size) : undefined),
      signal: this.#signal,
    };
    return { context, guard };
  }

  #record(id: string): PhaseRecord {
    return this.#state.phases[id]!;
  }

  /** Applies the edits of parallel phases one after another. */
  #edit(edits: readonly Edit[]): Promise<void> {
    this.#state = applyEdits(this.#state, edits);
    const next = this.#saving.then(() => this.#options.store.apply(edits));
    this.#saving = next.catch(() => {});
    return next;
  }

  #emit(agent: string, body: EventBody): void {
    const { harness, run } = this.#options;
    const parentAgent = agent === "main" ? undefined : (this.#state.phases[agent]?.parent ?? "main");
    this.#events += 1;
    this.#options.onEvent?.(
      eventOf({ harness, session: run, agent, parentAgent }, this.#clock(), undefined, this.#events, body),
    );
  }
}

function parentOf(record: PhaseRecord): { parent_phase?: string } {
  return record.parent === null ? {} : { parent_phase: record.parent };
}

function pctOf(guard: Conversation): number | null {
  const { windowTokens, peak } = guard.read();
  return windowTokens === undefined || peak === 0 ? null : Math.round((peak / windowTokens) * 100);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

async function inParallel<T, R>(
  items: readonly T[],
  limit: number,
  work: (item: T) => Promise<R>,
): Promise<R[]> {
  const results = new Array<R>(items.length);
  let next = 0;
  const worker = async () => {
    while (next < items.length) {
      const index = next++;
      results[index] = await work(items[index]!);
    }
  };
  await Promise.all(Array.from({ length: Math.max(1, Math.min(limit, items.length)) }, worker));
  return results;
}
