import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import type { Writers } from "../db/sql.ts";
import { isUnavailable } from "../db/unavailable.ts";
import type { PolicyBook } from "../policy/policy-book.ts";
import {
  acquireEvaluatorLease,
  EVALUATOR_LEASE_MS,
  type EvaluatorLease,
  EvaluatorLeaseLost,
  proveEvaluatorLease,
  releaseEvaluatorLease,
} from "./lease.ts";
import { Look } from "./look.ts";
import { OpenAlerts } from "./open-alerts.ts";
import { type LookWork, pauseAfterLook } from "./pause-after-look.ts";
import { RuleBook } from "./rule-book.ts";
import { trimAlerts } from "./trim-alerts.ts";
import { writeLook } from "./write-look.ts";

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

/** Milliseconds between two looks at what only time changes. Less than the lease, which each look renews. */
export const TICK_MS = 2_000;
/** The lease is renewed in a longer pause. */
const RENEW_EVERY_MS = EVALUATOR_LEASE_MS / 3;
/** After a change of the rules, live agents are looked at again: a commit that did not see the change may come later. */
const LOOK_AGAIN_MS = 5_000;

/** Milliseconds between two looks for history that is too old. */
const TRIM_EVERY_MS = 600_000;

const NO_WORK: LookWork = { agents: 0, counted: 0, changed: 0, open: 0 };

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
  lease: EvaluatorLease;
  book: RuleBook;
  open: OpenAlerts;
  /** Until when live agents are looked at again. Epoch ms. */
  lookAgainAt: number | undefined;
  tickedAt: number;
  trimmedAt: number;
}

/** Evaluates the alert rules of one project. Does nothing while another process holds the lease. */
export class Evaluator {
  readonly #options: EvaluatorOptions;
  #held: Held | undefined;
  /** Of the last look. */
  #work = NO_WORK;
  #running: Promise<void> | undefined;
  #woken = false;
  #endPause: (() => void) | undefined;
  #closed = false;

  constructor(options: EvaluatorOptions) {
    this.#options = options;
  }

  /** Whether this process evaluates, as far as it knows. */
  get holding(): boolean {
    return this.#held !== undefined;
  }

  /** Something may have changed. */
  wake(): void {
    this.#woken = true;
    this.#endPause?.();
    if (this.#closed || this.#running !== undefined) return;
    this.#running = this.#run().finally(() => {
      this.#running = undefined;
    });
  }

  /** Hands over. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#endPause?.();
    await this.#running;
    const held = this.#held;
    this.#held = undefined;
    if (held === undefined) return;
    const { writers, projectId } = this.#options;
    const [project] = await writers.query<ProjectRow>(PROJECT, projectId).catch(() => []);
    if (project !== undefined) await releaseEvaluatorLease(writers, held.lease, project.now).catch(() => {});
  }

  async #run(): Promise<void> {
    while (!this.#closed) {
      this.#woken = false;
      this.#work = NO_WORK;
      let next: number | undefined;
      try {
        next = await this.look();
      } catch (error) {
        this.#held = undefined;
        if (!(error instanceof EvaluatorLeaseLost)) {
          const { log, projectId } = this.#options;
          const level = isUnavailable(error) ? "debug" : "warn";
          log[level]({ err: error, projectId }, "alert rules could not be evaluated; trying again");
        }
        next = TICK_MS;
      }
      // Another process evaluates, or nothing is left. The next sweep wakes this evaluator.
      if (next === undefined) return;
      await this.#pause(pauseAfterLook(this.#work), next).catch(() => {
        // The next look acquires the lease, or finds that another process has it.
        this.#held = undefined;
      });
    }
  }

  /** Waits at least `least` ms, and then until something changes, at most `most` ms. */
  async #pause(least: number, most: number): Promise<void> {
    let left = least;
    for (; left > RENEW_EVERY_MS && !this.#closed; left -= RENEW_EVERY_MS) {
      await this.#wait(RENEW_EVERY_MS, () => this.#closed);
      await this.#renew();
    }
    await this.#wait(left, () => this.#closed);
    await this.#wait(most - least, () => this.#closed || this.#woken);
  }

  /** @throws EvaluatorLeaseLost, and errors of the database */
  async #renew(): Promise<void> {
    const { writers, projectId } = this.#options;
    const held = this.#held;
    const [project] = await writers.query<ProjectRow>(PROJECT, projectId);
    if (held === undefined || project === undefined) return;
    await writers.transaction((sql) => proveEvaluatorLease(sql, held.lease, project.now));
  }

  async #wait(ms: number, isOver: () => boolean): Promise<void> {
    const until = performance.now() + ms;
    while (!isOver() && performance.now() < until) {
      const stop = new AbortController();
      this.#endPause = () => stop.abort();
      await sleep(until - performance.now(), undefined, { signal: stop.signal, ref: false }).catch(() => {});
      this.#endPause = undefined;
    }
  }

  /**
   * Evaluates once.
   * @returns milliseconds until time alone may change something; undefined if this process has nothing to evaluate
   * @throws EvaluatorLeaseLost, and errors of the database; nothing is stored then
   */
  async look(): Promise<number | undefined> {
    const { writers, projectId, policyOf, log } = this.#options;
    const [project] = await writers.query<ProjectRow>(PROJECT, projectId);
    if (project === undefined || !project.alerting) {
      this.#held = undefined;
      return undefined;
    }
    const { now } = project;
    const isNew = this.#held === undefined;
    const held = this.#held ?? (await this.#acquire(now));
    if (held === undefined) return undefined;
    this.#held = held;
    const { book: before, open } = held;
    const isChanged = before.revision !== project.revision;
    if (isChanged) {
      held.book = await RuleBook.read(writers, projectId, project.revision, now);
      await open.readAcknowledgements(writers, projectId);
      held.lookAgainAt = now + LOOK_AGAIN_MS;
      open.counted.clear();
    }
    const isTick = isNew || now - held.tickedAt >= TICK_MS || now < held.tickedAt;
    const looksAgain = held.lookAgainAt !== undefined && now >= held.lookAgainAt;
    const look = new Look({
      sql: writers,
      project: { id: projectId, name: project.name },
      policy: await policyOf(projectId),
      book: held.book,
      open,
      lease: held.lease,
      now,
      isTick,
      seesAll: isNew || isChanged || looksAgain,
      decidesAll: isNew || isChanged || held.book.silencesChanged(held.tickedAt, now),
    });
    const plan = await look.plan();
    this.#work = plan.work;
    if (!plan.isEmpty || isTick) {
      await writers.transaction((sql) => writeLook(sql, held.lease, plan, project));
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
    if (looksAgain) held.lookAgainAt = undefined;
    for (const [id, reason] of plan.alerts.reasons)
      log.debug({ projectId, alert: id, reason }, "an alert changed");
    if (plan.finished) {
      await releaseEvaluatorLease(writers, held.lease, now);
      this.#held = undefined;
      return undefined;
    }
    return Math.min(TICK_MS, Math.max(0, (open.nextAt(held.book) ?? Number.POSITIVE_INFINITY) - now));
  }

  async #acquire(now: number): Promise<Held | undefined> {
    const { writers, projectId, holder } = this.#options;
    const lease = await acquireEvaluatorLease(writers, projectId, holder, now);
    if (lease === undefined) return undefined;
    const open = await OpenAlerts.read(writers, projectId);
    const never = Number.NEGATIVE_INFINITY;
    return { lease, book: RuleBook.empty, open, lookAgainAt: undefined, tickedAt: never, trimmedAt: never };
  }
}
