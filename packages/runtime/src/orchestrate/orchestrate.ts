import { Conversation, checkNames } from "@plimsoll/guard/conversation";
import { type EventBody, eventOf } from "@plimsoll/guard/report";
import { Manager } from "./manager.ts";
import {
  ORCHESTRATE_OPTIONS,
  type OrchestrateOptions,
  type OrchestrateResult,
  type PhaseContext,
  type PhaseOutcome,
} from "./options.ts";
import { routeProblem } from "./route.ts";
import { completionReport, contextWarning, handoffText, progressTable } from "./run-report.ts";
import { type SplitRequest, splitNotice, subPhasesOf, tooLarge } from "./split.ts";
import {
  applyEdits,
  type Edit,
  isOver,
  newPhase,
  type PhaseRecord,
  type RunState,
  retriesOf,
} from "./state.ts";

/**
 * Runs phases one after another. The orchestrator only holds names, scores and statuses; runners do the work. A phase
 * that asks to be split runs as sub-phases without confirmation: in parallel, except those that share a group or name each
 * other in `after`. A sub-phase that fails gets one remediation round; if it fails again, those that need it are blocked.
 * Another call with the same store continues a run that a crash or an abort interrupted, without repeating a phase that is over.
 * If the run has ended, it tries again what failed. A high context level never stops a run.
 * @throws {GuardError} `store_locked` if another process or call uses the store; `invalid_option`.
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
  checkNames(options, ORCHESTRATE_OPTIONS);
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
  readonly #broken = new AbortController();
  readonly #signal: AbortSignal;
  #state!: RunState;
  #saving: Promise<void> = Promise.resolve();
  #events = 0;

  constructor(options: OrchestrateOptions) {
    this.#options = options;
    this.#clock = options.clock ?? Date.now;
    this.#signal = AbortSignal.any([this.#broken.signal, ...(options.signal ? [options.signal] : [])]);
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
      stored === undefined
        ? [{ path: [], value: this.#state }]
        : [{ path: ["status"], value: "running" }, ...retriesOf(stored)],
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
    if (isOver(before)) return before;
    if (before.split.length > 0) return this.#subPhases(id, depth);
    const began = this.#clock();
    const resumed = before.status === "running";
    await this.#edit([{ path: ["phases", id, "status"], value: "running" }]);
    this.#emit(id, { type: "phase", phase: id, status: "running", ...parentOf(before) });
    const maySplit = depth < (this.#options.maxDepth ?? 2);
    const { context, guard } = this.#context(before, maySplit, resumed);
    for (;;) {
      const attempt = { ...context, findings: this.#record(id).remediation };
      const outcome = await this.#attempt(attempt, maySplit);
      if (outcome === undefined) return this.#record(id);
      if (outcome.status === "split_request") {
        await this.#split(id, outcome, guard, this.#clock() - began);
        return this.#subPhases(id, depth);
      }
      const verdict = await this.#verify(attempt, outcome);
      // What an abort cut short did not fail; it stays running, and the next call resumes it.
      if (verdict === undefined || (verdict.status === "failed" && this.#signal.aborted))
        return this.#record(id);
      if (verdict.status !== "failed" || !(await this.#remediate(id, verdict.summary))) {
        await this.#settle(id, { ...verdict, contextPct: pctOf(guard), durationMs: this.#clock() - began });
        return this.#record(id);
      }
      // The next attempt is another agent, with a window of its own.
      guard.restart("requested");
    }
  }

  /** Notes that a failed sub-phase gets its one other attempt. Returns false if it had it. */
  async #remediate(id: string, findings: string): Promise<boolean> {
    const { parent, remediation } = this.#record(id);
    if (parent === null || remediation !== undefined) return false;
    // Stored before the attempt, so that a crash cannot give a second one.
    const note = this.#manager.note(findings);
    await this.#edit([{ path: ["phases", id, "remediation"], value: note }]);
    this.#options.say?.(`Phase ${id} is not completed (${note}). Remediating it once...`);
    this.#emit(id, { type: "phase", phase: id, status: "remediating", parent_phase: parent });
    return true;
  }

  /** Runs a phase. An error fails the phase, not the run. */
  async #attempt(context: PhaseContext, maySplit: boolean): Promise<PhaseOutcome | undefined> {
    try {
      const outcome = await this.#options.runPhase(context);
      if (outcome.status !== "split_request") return outcome;
      if (!maySplit) return { status: "failed", summary: "requested a split beyond maxDepth" };
      if (outcome.subPhases.length === 0)
        return { status: "failed", summary: "requested a split without sub-phases" };
      const problem = routeProblem(outcome);
      return problem === undefined ? outcome : { status: "failed", summary: problem };
    } catch (error) {
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
    this.#options.say?.(splitNotice(id, request, this.#options.concurrency));
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
    const results = await this.#inOrder(split, depth + 1);
    if (!results.every(isOver)) return this.#record(id);
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

  /** Runs sub-phases in parallel, each after those that it waits for. Returns once none of them runs any more. */
  async #inOrder(ids: readonly string[], depth: number): Promise<PhaseRecord[]> {
    const slot = slots(this.#options.concurrency ?? ids.length);
    const begun = new Map<string, Promise<PhaseRecord>>();
    const begin = (id: string): Promise<PhaseRecord> => {
      const known = begun.get(id) ?? run(id);
      begun.set(id, known);
      return known;
    };
    const run = async (id: string): Promise<PhaseRecord> => {
      const { waitsFor, needs } = this.#record(id);
      await Promise.all(waitsFor.map(begin));
      return slot(async () => {
        if (this.#signal.aborted || isOver(this.#record(id))) return this.#record(id);
        const unmet = needs.map((one) => this.#record(one)).find(({ status }) => status !== "completed");
        return unmet === undefined ? this.#phase(id, depth) : this.#block(id, unmet);
      });
    };
    const runs = ids.map(begin);
    await Promise.allSettled(runs);
    return Promise.all(runs);
  }

  async #block(id: string, unmet: PhaseRecord): Promise<PhaseRecord> {
    const { score, contextPct, durationMs } = this.#record(id);
    const summary = `needs ${unmet.id}, which is ${unmet.status}`;
    await this.#settle(id, { status: "blocked", score, summary, contextPct, durationMs });
    return this.#record(id);
  }

  async #settle(
    id: string,
    result: Pick<PhaseRecord, "status" | "score" | "summary" | "contextPct" | "durationMs">,
  ): Promise<void> {
    const summary = this.#manager.note(result.summary);
    const edits: Edit[] = Object.entries({ ...result, summary, remediation: undefined }).map(
      ([key, value]) => ({ path: ["phases", id, key], value }),
    );
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
      findings: undefined,
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
    // Nothing can be stored any more, so the other phases stop.
    this.#saving = next.catch((error: unknown) => this.#broken.abort(error));
    return next;
  }

  #emit(agent: string, body: EventBody): void {
    const { harness, run } = this.#options;
    const parentAgent = agent === "main" ? undefined : (this.#state.phases[agent]?.parent ?? "main");
    this.#events += 1;
    try {
      this.#options.onEvent?.(
        eventOf({ harness, session: run, agent, parentAgent }, this.#clock(), undefined, this.#events, body),
      );
    } catch (error) {
      // The work of a phase matters more than its record.
      this.#options.say?.(`An event was not recorded: ${messageOf(error)}`);
    }
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

/** Lets at most `most` works run at once. */
function slots(most: number): <T>(work: () => Promise<T>) => Promise<T> {
  let free = Math.max(1, most);
  const waiting: (() => void)[] = [];
  return async (work) => {
    if (free === 0) await new Promise<void>((resolve) => waiting.push(resolve));
    else free--;
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next === undefined) free++;
      else next();
    }
  };
}
