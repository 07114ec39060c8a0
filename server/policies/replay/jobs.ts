import { randomUUID } from "node:crypto";
import type { ReplayResult, ReplaySessionView, ReplayView } from "@plimsoll/protocol/api";
import pLimit from "p-limit";
import type { Logger } from "pino";
import { PlimsollError } from "../../errors.ts";
import { type ReplayControl, type ReplayRequest, runReplay } from "./run-replay.ts";
import { readReplaySession } from "./session-view.ts";

/** Milliseconds for which a finished replay is kept. */
const KEPT_MS = 10 * 60_000;
/** Replays in memory, and those that run at once, over all projects. */
const MOST_KEPT = 50;
const MOST_RUNNING = 2;
/** Sessions replayed at once for charts. Each takes a connection. */
const SESSIONS_AT_ONCE = 2;

interface Job extends Omit<ReplayView, "id"> {
  projectId: number;
  request: ReplayRequest;
  stop: AbortController;
  ended: Promise<void>;
  endedAt: number | undefined;
}

export interface ReplayJobsOptions {
  log: Logger;
  /** Milliseconds, never going back. */
  now?: () => number;
  run?: (request: ReplayRequest, control: ReplayControl) => Promise<ReplayResult>;
}

/** Replays of this process: one at a time in each project. */
export class ReplayJobs {
  readonly #jobs = new Map<string, Job>();
  readonly #sessions = pLimit(SESSIONS_AT_ONCE);
  readonly #stopping = new AbortController();
  readonly #charts = new Set<Promise<unknown>>();
  readonly #log: Logger;
  readonly #now: () => number;
  readonly #run: NonNullable<ReplayJobsOptions["run"]>;

  constructor({ log, now = () => performance.now(), run = runReplay }: ReplayJobsOptions) {
    this.#log = log;
    this.#now = now;
    this.#run = run;
  }

  /**
   * Starts a replay.
   * @returns its id
   * @throws PlimsollError `conflict` while another one of the project runs, `overloaded` while too many run
   */
  start(request: ReplayRequest): string {
    this.#forget();
    const { projectId } = request;
    const running = [...this.#jobs].filter(([, { state }]) => state === "running");
    const own = running.find(([, job]) => job.projectId === projectId);
    if (own !== undefined)
      throw new PlimsollError(
        "conflict",
        "A replay of this project is running. Cancel it, or wait for its end.",
        {
          details: { id: own[0] },
        },
      );
    if (running.length >= MOST_RUNNING)
      throw new PlimsollError("overloaded", "Replays of other projects are running. Try again in a moment.", {
        details: { retry_after_seconds: 5 },
      });
    const id = randomUUID();
    const stop = new AbortController();
    const job: Job = {
      projectId,
      request,
      stop,
      state: "running",
      done: 0,
      total: null,
      error: null,
      result: null,
      ended: Promise.resolve(),
      endedAt: undefined,
    };
    this.#jobs.set(id, job);
    job.ended = this.#carryOut(job);
    return id;
  }

  /** @throws PlimsollError `not_found` */
  view(projectId: number, id: string): ReplayView {
    const { state, done, total, error, result } = this.#find(projectId, id);
    return { id, state, done, total, error, result };
  }

  /** The levels of one session in a replay. @throws PlimsollError `not_found` */
  async session(projectId: number, id: string, session: string): Promise<ReplaySessionView> {
    const { request } = this.#find(projectId, id);
    const chart = this.#sessions(() => readReplaySession(request, session, this.#stopping.signal));
    this.#charts.add(chart);
    return chart.finally(() => this.#charts.delete(chart));
  }

  /** Ends a replay and waits for its end. Does nothing to a finished one. @throws PlimsollError `not_found` */
  async cancel(projectId: number, id: string): Promise<void> {
    const job = this.#find(projectId, id);
    job.stop.abort();
    await job.ended;
  }

  /** Ends all replays and waits for their end. */
  async stop(): Promise<void> {
    const jobs = [...this.#jobs.values()];
    this.#stopping.abort();
    for (const { stop } of jobs) stop.abort();
    await Promise.allSettled([...jobs.map(({ ended }) => ended), ...this.#charts]);
  }

  async #carryOut(job: Job): Promise<void> {
    try {
      const { signal } = job.stop;
      const result = await this.#run(job.request, {
        signal,
        progress: (done, total) => Object.assign(job, { done, total }),
      });
      signal.throwIfAborted();
      Object.assign(job, { state: "done", result, done: job.total ?? 0, total: job.total ?? 0 });
    } catch (err) {
      if (job.stop.signal.aborted) job.state = "cancelled";
      else {
        job.state = "failed";
        job.error = err instanceof PlimsollError ? err.message : "The server could not finish the replay.";
        this.#log.error({ err, projectId: job.projectId }, "a replay failed");
      }
    }
    job.endedAt = this.#now();
  }

  #find(projectId: number, id: string): Job {
    this.#forget();
    const job = this.#jobs.get(id);
    if (job?.projectId === projectId) return job;
    throw new PlimsollError(
      "not_found",
      "There is no such replay. The server that ran it keeps it for ten minutes, and loses it when it stops.",
    );
  }

  #forget(): void {
    const ended = [...this.#jobs].filter(([, { endedAt }]) => endedAt !== undefined);
    const tooMany = this.#jobs.size - MOST_KEPT;
    for (const [place, [id, { endedAt }]] of ended.entries()) {
      if (place < tooMany || this.#now() - endedAt! > KEPT_MS) this.#jobs.delete(id);
    }
  }
}
