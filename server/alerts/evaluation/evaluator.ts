import type { Logger } from "pino";
import { type Lease, LeaseLost, LeaseSeeker } from "../../db/lease.ts";
import type { Writers } from "../../db/sql.ts";
import { isUnavailable } from "../../db/unavailable.ts";
import { type Pause, WorkerLoop } from "../../db/worker-loop.ts";
import type { PolicyBook } from "../../lines/policy-book.ts";
import { RuleBook } from "../rule-book.ts";
import { readWatch, type Watch } from "../watch.ts";
import { Evaluation } from "./evaluation.ts";
import { OpenAlerts } from "./open-alerts.ts";
import { type EvaluationWork, pauseAfterEvaluation } from "./pause-after-evaluation.ts";
import { trimAlerts } from "./trim-alerts.ts";
import { writeEvaluation } from "./write-evaluation.ts";

export interface EvaluatorOptions {
  projectId: number;
  writers: Writers;
  /** Identifies this process. */
  holder: string;
  policyOf: (projectId: number) => Promise<PolicyBook>;
  /** Called after a commit that changed alerts, with the ids of their sessions. */
  changed: (projectId: number, sessions: readonly string[]) => void;
  /** Called after a commit that added deliveries. */
  enqueued: () => void;
  log: Logger;
}

/** Milliseconds between two evaluations of what only time changes. */
export const TICK_MS = 2_000;
/** Milliseconds without a holder after which silence before says nothing: no server may have listened. */
const GAP_MS = 30_000;
/** After a change of the rules, live agents are evaluated again: a commit that did not see the change may come later. */
const EVALUATE_AGAIN_MS = 5_000;

/** Milliseconds between two deletions of history that is too old. */
const TRIM_EVERY_MS = 600_000;

const NO_WORK: EvaluationWork = { agents: 0, counted: 0, changed: 0, open: 0 };

const PROJECT = `
SELECT name, alerting, alert_revision AS revision, (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now
FROM projects WHERE id = $1 AND deleting_at IS NULL`;

interface ProjectRow {
  name: string;
  alerting: boolean;
  revision: number;
  now: number;
}

/** What the holder of the lease remembers. */
interface Held {
  lease: Lease;
  watch: Watch;
  book: RuleBook;
  open: OpenAlerts;
  /** When live agents are evaluated again. Epoch ms. */
  evaluateAgainAt: number | undefined;
  tickedAt: number;
  trimmedAt: number;
}

/** Evaluates the alert rules of one project. Does nothing while another process holds the lease. */
export class Evaluator {
  readonly #options: EvaluatorOptions;
  readonly #seeker: LeaseSeeker;
  /** The database's time in epoch ms, less `performance.now()`. */
  #offset = 0;
  #held: Held | undefined;
  /** Of the last evaluation. */
  #work = NO_WORK;
  readonly #loop = new WorkerLoop(() => this.#step());

  constructor(options: EvaluatorOptions) {
    this.#options = options;
    const { projectId, writers, holder } = options;
    const now = () => performance.now() + this.#offset;
    this.#seeker = new LeaseSeeker({ table: "alert_evaluators", projectId, writers, holder, now });
  }

  /** Whether this process evaluates, as far as it knows. */
  get holding(): boolean {
    return this.#held !== undefined;
  }

  /** Something may have changed. */
  wake(): void {
    this.#loop.wake();
  }

  /** Hands over. */
  async close(): Promise<void> {
    await this.#loop.stop();
    await this.#handOver().catch(() => {});
  }

  async #handOver(): Promise<void> {
    const held = this.#held;
    this.#held = undefined;
    await held?.lease.release();
  }

  async #step(): Promise<Pause | undefined> {
    this.#work = NO_WORK;
    const next = await this.evaluate().catch(async (error: unknown) => {
      await this.#failed(error);
      return TICK_MS;
    });
    // Another process evaluates, or nothing is left. The next sweep wakes this evaluator.
    return next === undefined ? undefined : { mostMs: next, leastMs: pauseAfterEvaluation(this.#work) };
  }

  /** The next evaluation acquires the lease again, or finds that another process has it. */
  async #failed(error: unknown): Promise<void> {
    const { log, projectId } = this.#options;
    const lease = this.#held?.lease;
    if (!(error instanceof LeaseLost)) {
      const level = isUnavailable(error) ? "debug" : "warn";
      log[level]({ err: error, projectId }, "alert rules could not be evaluated; trying again");
      return this.#handOver().catch(() => {});
    }
    this.#held = undefined;
    await lease?.contest(log).catch(() => {});
  }

  /**
   * Evaluates once.
   * @returns milliseconds until time alone may change something; undefined if this process has nothing to evaluate
   * @throws LeaseLost, and errors of the database; nothing is stored then
   */
  async evaluate(): Promise<number | undefined> {
    const { writers, projectId, policyOf, log } = this.#options;
    const [project] = await writers.query<ProjectRow>(PROJECT, projectId);
    if (project === undefined || !project.alerting) {
      await this.#handOver();
      return undefined;
    }
    const { now } = project;
    this.#offset = now - performance.now();
    const isNew = this.#held === undefined;
    const held = this.#held ?? (await this.#acquire(now));
    if (held === undefined) return undefined;
    this.#held = held;
    const { book: before, open } = held;
    const isChanged = before.revision !== project.revision;
    if (isChanged) {
      held.book = await RuleBook.read(writers, projectId, project.revision, now);
      await open.readAcknowledgements(writers, projectId);
      held.evaluateAgainAt = now + EVALUATE_AGAIN_MS;
      open.counted.clear();
    }
    const isTick = isNew || now - held.tickedAt >= TICK_MS || now < held.tickedAt;
    const evaluatesAgain = held.evaluateAgainAt !== undefined && now >= held.evaluateAgainAt;
    const evaluation = new Evaluation({
      sql: writers,
      project: { id: projectId, name: project.name },
      policy: await policyOf(projectId),
      book: held.book,
      open,
      watch: held.watch,
      now,
      isTick,
      seesAll: isNew || isChanged || evaluatesAgain,
      decidesAll: isNew || isChanged || held.book.silencesChanged(held.tickedAt, now),
    });
    const plan = await evaluation.plan();
    this.#work = plan.work;
    if (!plan.isEmpty || isTick) {
      await held.lease.transaction(async (sql, prove) => {
        await prove();
        await writeEvaluation(sql, { projectId, ...held.watch }, plan, project.revision);
      });
      if (isTick) held.tickedAt = now;
    }
    if (now - held.trimmedAt >= TRIM_EVERY_MS) {
      await trimAlerts(writers, projectId, now);
      held.trimmedAt = now;
    }
    open.apply(plan);
    if (plan.groups.outgoing.length > 0) this.#options.enqueued();
    const { changed, removed } = plan.alerts;
    if (changed.length + removed.length > 0)
      this.#options.changed(
        projectId,
        [...changed, ...removed].flatMap(({ place }) => place.sessionId ?? []),
      );
    if (evaluatesAgain) held.evaluateAgainAt = undefined;
    for (const [id, reason] of plan.alerts.reasons)
      log.debug({ projectId, alert: id, reason }, "an alert changed");
    if (plan.finished) {
      await this.#handOver();
      return undefined;
    }
    return Math.min(TICK_MS, Math.max(0, (open.nextAt(held.book) ?? Number.POSITIVE_INFINITY) - now));
  }

  async #acquire(now: number): Promise<Held | undefined> {
    const { writers, projectId } = this.#options;
    const lease = await this.#seeker.acquire();
    if (lease === undefined) return undefined;
    lease.work();
    const renewedAt = lease.before?.renewedAt;
    const hasGap = renewedAt === undefined || Math.abs(now - renewedAt) > GAP_MS;
    const watch = await readWatch(writers, projectId, hasGap ? now : undefined);
    if (watch === undefined) return undefined;
    const open = await OpenAlerts.read(writers, projectId);
    const never = Number.NEGATIVE_INFINITY;
    return {
      lease,
      watch,
      book: RuleBook.empty,
      open,
      evaluateAgainAt: undefined,
      tickedAt: never,
      trimmedAt: never,
    };
  }
}
