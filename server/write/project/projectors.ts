import { randomUUID } from "node:crypto";
import type { Logger } from "pino";
import type { DatabaseClock } from "../../db/database-clock.ts";
import type { Writers } from "../../db/sql.ts";
import type { JournaledEntry } from "../journal/entry-queue.ts";
import type { RequestOutcome } from "../plan/outcomes.ts";
import { OUTCOMES_DUE } from "./count-outcomes.ts";
import { SHARED } from "./pace.ts";
import { HOURS_DUE } from "./pack-hours.ts";
import type { ProjectSettings } from "./plan-chunk.ts";
import { type Projected, Projector } from "./projector.ts";
import { REMOVE_AFTER_MS } from "./undo-time.ts";

/** Outcomes of requests that another process received. */
export type RemoteOutcome = RequestOutcome & { reply: string };

/** How this process and the others on the same database tell each other about the journal. */
export interface JournalSignals {
  /** Tells the other processes that a project's journal has new rows. */
  journaled(projectId: number): void;
  onJournaled(listener: (projectId: number) => void): () => void;
  replied(replies: readonly RemoteOutcome[]): void;
  onReplied(listener: (replies: readonly RemoteOutcome[]) => void): () => void;
  /** Whether somebody waits for changes of a project. */
  isWatched(projectId: number): boolean;
}

export interface ProjectorsOptions {
  writers: Writers;
  clock: DatabaseClock;
  /** See `LeaseOptions`. */
  monotonic?: () => number;
  settings: (projectId: number) => ProjectSettings;
  signals: JournalSignals;
  log: Logger;
  projected: (change: Projected) => void;
  /** Called when the backlog of a project may have become smaller. */
  progressed: (projectId: number) => void;
  /** Every project, so that the journals of processes that died are found. */
  projects: () => Promise<readonly number[]>;
}

/** Milliseconds between two looks at every journal. */
const SWEEP_MS = 1_000;
/** The same while a journal waits for its holder, which may be dead. */
const WATCH_MS = 300;
/** Milliseconds between two looks at a journal that this process fills and another one projects. */
const LOOK_MS = 50;
/** Events in the journal that another process may be projecting: one chunk being planned, one being written. */
const UNDER_WAY = 2 * SHARED.chunk;
/** Sweeps between two looks for upkeep. */
const TIDY_EVERY = 600;

/** The projectors of this process: one a project, each at work only while it holds the project's lease. */
export class Projectors {
  readonly #options: ProjectorsOptions;
  readonly #holder = randomUUID();
  readonly #projectors = new Map<number, Projector>();
  /** Events in the journals of projects that another process projects, as far as this process knows. */
  readonly #elsewhere = new Map<number, number>();
  /** Projects whose journal is looked at soon. */
  readonly #looking = new Set<number>();
  readonly #replies = new Map<string, (outcome: RequestOutcome) => void>();
  readonly #stops: (() => void)[];
  #sweep: NodeJS.Timeout | undefined;
  #closed = false;
  #sweeps = 0;

  constructor(options: ProjectorsOptions) {
    this.#options = options;
    const { signals } = options;
    this.#stops = [
      signals.onJournaled((projectId) => {
        // Only the holder needs to look; anybody may become it.
        if (this.#projectors.get(projectId)?.holding) this.of(projectId).check();
      }),
      signals.onReplied((replies) => this.#resolve(replies)),
    ];
    this.#scheduleSweep(0);
  }

  /** Takes an entry that this process has journaled, or leaves it to the process that projects. */
  journaled(projectId: number, entry: JournaledEntry): void {
    const projector = this.of(projectId);
    projector.offer(entry);
    if (projector.holding) return;
    this.#elsewhere.set(projectId, (this.#elsewhere.get(projectId) ?? 0) + entry.entry.events.length);
    this.#lookSoon(projectId);
  }

  /** Looks for upkeep in all projects, such as what a restore brought. */
  tidy(): void {
    for (const projector of this.#projectors.values()) projector.tidy();
  }

  /** Events of a project that wait for the projection, as far as this process knows. */
  backlog(projectId: number): number {
    const projector = this.#projectors.get(projectId);
    if (projector === undefined) return 0;
    if (projector.holding) return projector.backlog;
    return Math.max(0, (this.#elsewhere.get(projectId) ?? 0) - UNDER_WAY);
  }

  /** Events of a project that may wait before senders have to. */
  limit(projectId: number): number {
    return this.#projectors.get(projectId)?.sizes.waiting ?? SHARED.waiting;
  }

  /** Projects with a projector in this process. */
  projectIds(): number[] {
    return [...this.#projectors.keys()];
  }

  /** Whether this process projects the project. */
  holds(projectId: number): boolean {
    return this.of(projectId).holding;
  }

  /** Resolves once no entry of these is in this process' memory. */
  gone(projectId: number, ids: readonly string[]): Promise<void> {
    return this.of(projectId).gone(ids);
  }

  /** Calls back with what another process says of a request. Returns the function that stops waiting. */
  onReply(reply: string, done: (outcome: RequestOutcome) => void): () => void {
    this.#replies.set(reply, done);
    return () => void this.#replies.delete(reply);
  }

  of(projectId: number): Projector {
    let projector = this.#projectors.get(projectId);
    if (projector === undefined) {
      const { writers, clock, monotonic, settings, log, projected, signals } = this.#options;
      projector = new Projector({
        projectId,
        writers,
        clock,
        ...(monotonic && { monotonic }),
        holder: this.#holder,
        settings,
        log,
        projected: (change) => {
          if (change.replies.length > 0) {
            // This process may have become the holder since it journaled the request.
            this.#resolve(change.replies);
            signals.replied(change.replies);
          }
          projected(change);
        },
        progressed: () => this.#options.progressed(projectId),
        leftToOthers: () => signals.journaled(projectId),
        isWatched: () => signals.isWatched(projectId),
      });
      this.#projectors.set(projectId, projector);
    }
    return projector;
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#sweep);
    for (const stop of this.#stops) stop();
    await Promise.all([...this.#projectors.values()].map((projector) => projector.close()));
  }

  #resolve(replies: readonly RemoteOutcome[]): void {
    for (const { reply, ...outcome } of replies) this.#replies.get(reply)?.(outcome);
  }

  #scheduleSweep(wait: number): void {
    if (this.#closed) return;
    this.#sweep = setTimeout(() => {
      void this.#look()
        .catch((err) => this.#options.log.debug({ err }, "the journals could not be looked at"))
        .then((isWaiting) => this.#scheduleSweep(isWaiting === true ? WATCH_MS : SWEEP_MS));
    }, wait).unref();
  }

  /** Returns whether a journal waits for another process. */
  async #look(): Promise<boolean> {
    this.#sweeps += 1;
    let isWaiting = false;
    const tidy = this.#sweeps % TIDY_EVERY === 0;
    // A project is created before its first event, so a projector that is older than the list belongs in it.
    const known = this.projectIds();
    const projects = await this.#options.projects();
    await this.#dropDeleted(known.filter((projectId) => !projects.includes(projectId)));
    for (const projectId of projects) {
      if (this.#closed) return false;
      const projector = this.of(projectId);
      const { rows, policyChanged, removalDue, countDue, packDue } = await this.#readBacklog(projectId);
      // A policy may count for the past of a project that no event reaches any more.
      if (tidy || policyChanged || removalDue || countDue || packDue) projector.tidy();
      if (rows > 0 || policyChanged || projector.unstarted) projector.check();
      isWaiting ||= rows > 0 && !projector.holding;
    }
    return isWaiting;
  }

  /** Looks at a journal until another process has projected what this one left to it. */
  #lookSoon(projectId: number): void {
    if (this.#looking.has(projectId) || this.#closed) return;
    this.#looking.add(projectId);
    setTimeout(() => {
      void this.#readBacklog(projectId)
        .catch(() => ({ rows: 1 }))
        .then(({ rows }) => {
          this.#looking.delete(projectId);
          if (rows > 0 && this.#projectors.get(projectId)?.holding === false) this.#lookSoon(projectId);
        });
    }, LOOK_MS).unref();
  }

  /**
   * Returns the number of rows in the journal, whether nobody has considered the newest step of the policy, and whether
   * something deleted is to be removed.
   */
  async #readBacklog(projectId: number): Promise<Omit<BacklogRow, "events">> {
    const [row] = await this.#options.writers.query<BacklogRow>(BACKLOG, projectId);
    this.#elsewhere.set(projectId, row?.events ?? 0);
    if (!this.#projectors.get(projectId)?.holding) this.#options.progressed(projectId);
    return row ?? { rows: 0, policyChanged: false, removalDue: false, countDue: false, packDue: false };
  }

  async #dropDeleted(projectIds: readonly number[]): Promise<void> {
    for (const projectId of projectIds) {
      const projector = this.#projectors.get(projectId);
      this.#projectors.delete(projectId);
      this.#elsewhere.delete(projectId);
      await projector?.discard();
    }
  }
}

interface BacklogRow {
  events: number;
  rows: number;
  policyChanged: boolean;
  removalDue: boolean;
  countDue: boolean;
  packDue: boolean;
}

const due = (table: string) =>
  `EXISTS (SELECT 1 FROM ${table} t WHERE t.project_id = $1 AND t.deleted_at <= now() - ${REMOVE_AFTER_MS} * interval '1 ms')`;
const BACKLOG = `
SELECT COALESCE(sum(j.events), 0)::float8 AS events, count(*)::int4 AS rows,
  COALESCE((SELECT o.policy_revision FROM projects o WHERE o.id = $1), 0) >
    COALESCE((SELECT p.policy_revision FROM projectors p WHERE p.project_id = $1), 0) AS "policyChanged",
  ${due("sessions")} OR ${due("harnesses")} AS "removalDue", ${OUTCOMES_DUE} AS "countDue",
  ${HOURS_DUE} AS "packDue"
FROM journal j WHERE j.project_id = $1`;
