import type { Logger } from "pino";
import type { DatabaseClock } from "../../db/database-clock.ts";
import { type Lease, LeaseLost } from "../../db/lease.ts";
import type { Sql, WriterSql, Writers } from "../../db/sql.ts";
import { journal } from "../../db/tables/journal.ts";
import { isUnavailable } from "../../db/unavailable.ts";
import { PolicyBook } from "../../lines/policy-book.ts";
import type { Chunk } from "../journal/entry-queue.ts";
import { ProjectMemory } from "../memory/memory.ts";
import type { ProjectSettings } from "./plan-chunk.ts";
import { rejudge } from "./rejudge.ts";

export interface HeldProjectOptions {
  projectId: number;
  writers: Writers;
  clock: DatabaseClock;
  /** Identifies this process. */
  holder: string;
  settings: (projectId: number) => ProjectSettings;
  log: Logger;
}

/** The work of a transaction. `alerting`: whether the project has alert rules that are switched on. */
type RunInProject<T> = (sql: WriterSql, project: { alerting: boolean }) => Promise<T>;

/** A project whose lease this process holds: reads and writes it, and remembers what was written. */
export class HeldProject {
  readonly #options: HeldProjectOptions;
  readonly #lease: Lease;
  #memory: ProjectMemory | undefined;
  #packsFrom: number;
  /** The time to which packing is put off at most, epoch ms. */
  #packsLate: number;
  /** Number of the newest policy step seen, and of the newest step considered. */
  #policy: { seen: number; considered: number };

  private constructor(options: HeldProjectOptions, lease: Lease, considered: number) {
    this.#options = options;
    this.#lease = lease;
    this.#policy = { seen: considered, considered };
    this.#packsFrom = this.now() + QUIET_MS;
    this.#packsLate = this.now() + LONGEST_DELAY_MS;
  }

  /** Returns undefined if the project is deleted. */
  static async open(options: HeldProjectOptions, lease: Lease): Promise<HeldProject | undefined> {
    const { writers, projectId } = options;
    if (lease.epoch === 1 && (await removeOrphan(writers, projectId))) return undefined;
    const [row] = await writers.query<{ revision: number }>(POLICY_CONSIDERED, projectId);
    return row && new HeldProject(options, lease, row.revision);
  }

  /** The right to project. */
  get lease(): Lease {
    return this.#lease;
  }

  get projectId(): number {
    return this.#options.projectId;
  }

  get settings(): ProjectSettings {
    return this.#options.settings(this.projectId);
  }

  get log(): Logger {
    return this.#options.log;
  }

  /** The database's time in epoch ms. */
  now(): number {
    return this.#options.clock.now();
  }

  /** The time from which old minutes may be packed, epoch ms. */
  get packsFrom(): number {
    return this.#packsFrom;
  }

  /** Old minutes were written. An import may write to the same hours again, and each time they would be unpacked. */
  delayPacking(): void {
    const now = this.now();
    if (now >= this.#packsFrom) this.#packsLate = now + LONGEST_DELAY_MS;
    this.#packsFrom = Math.min(now + QUIET_MS, this.#packsLate);
  }

  /** What this process wrote last. Call `openMemory` first, and again after `forget`. */
  get memory(): ProjectMemory {
    return this.#memory!;
  }

  async openMemory(): Promise<void> {
    this.#memory ??= await ProjectMemory.open(this, this.projectId);
    this.#policy.seen = Math.max(this.#policy.seen, this.#memory.policy.revision);
  }

  /** Whether the policy changed since `considerPolicy`, as far as the last transaction saw. */
  get policyChanged(): boolean {
    return this.#policy.seen > this.#policy.considered;
  }

  /**
   * Reads the policy and queues a new fold of the agents with events after the change: the clock of their sender is ahead, or the
   * change applies to history.
   * @throws LeaseLost
   */
  async considerPolicy(): Promise<void> {
    const { projectId } = this;
    const policy = await PolicyBook.read(this, projectId);
    const from = policy.changedSince(this.#policy.considered);
    await this.transaction(async (sql) => {
      if (from !== undefined) {
        const { text, values } = rejudge(projectId, from, undefined);
        sql.send(text, ...values);
      }
      sql.send(CONSIDERED, projectId, policy.revision);
    });
    this.#policy = { seen: policy.revision, considered: policy.revision };
    if (this.#memory !== undefined) this.#memory.policy = policy;
  }

  /** Call after a failure: the memory may hold what was planned and not committed. */
  forget(): void {
    this.#memory = undefined;
  }

  /** Runs one statement by itself, without proving the lease. */
  query<Row>(text: string, ...values: unknown[]): Promise<Row[]> {
    return this.#options.writers.query<Row>(text, ...values);
  }

  /**
   * Commits what `run` writes.
   * @throws LeaseLost
   */
  async transaction<T>(run: RunInProject<T>): Promise<T> {
    return this.#lease.transaction(async (sql, prove) => {
      // If the commit is lost in a crash, the journal's rows are back too.
      sql.send("SET LOCAL synchronous_commit = off");
      const [[project]] = await Promise.all([
        sql.query<{ revision: number; alerting: boolean }>(PROJECT, this.projectId),
        prove(),
      ]);
      this.#policy.seen = Math.max(this.#policy.seen, project?.revision ?? 0);
      return run(sql, { alerting: project?.alerting ?? false });
    });
  }

  /**
   * Commits what `run` writes of a chunk, and deletes the chunk's rows from the journal.
   * @throws LeaseLost
   */
  async commitChunk({ entries }: Chunk, run: RunInProject<void>): Promise<void> {
    const rows = entries.map(({ id }) => ({ id }));
    await this.transaction(async (sql, project) => {
      await run(sql, project);
      const { text, values } = journal.delete(this.projectId, rows);
      sql.send(text, ...values);
    });
  }
}

/** Milliseconds without a write to old minutes, after which they are packed. */
const QUIET_MS = 30_000;
/** Milliseconds for which such writes put it off at most. */
const LONGEST_DELAY_MS = 600_000;

const PROJECT = "SELECT policy_revision AS revision, alerting FROM projects WHERE id = $1";
const CONSIDERED = "UPDATE projectors SET policy_revision = $2 WHERE project_id = $1";
const POLICY_CONSIDERED = "SELECT policy_revision AS revision FROM projectors WHERE project_id = $1";

const EXISTS = "SELECT 1 FROM projects WHERE id = $1 AND deleting_at IS NULL";
const REMOVE_JOURNAL = "DELETE FROM journal WHERE project_id = $1";
const REMOVE_LEASE = "DELETE FROM projectors WHERE project_id = $1 AND epoch = 1";

/**
 * Removes the lease of a project that is deleted, with what a late request journaled. Returns whether it did. Deletion
 * removes the lease first, so only a new row can be an orphan.
 */
async function removeOrphan(sql: Pick<Sql, "query">, projectId: number): Promise<boolean> {
  if ((await sql.query(EXISTS, projectId)).length > 0) return false;
  await sql.query(REMOVE_JOURNAL, projectId);
  await sql.query(REMOVE_LEASE, projectId);
  return true;
}

/** True if the statements of a transaction did not cause its failure: the lease was lost, or the database was unavailable. */
export function hasExternalCause(error: unknown): boolean {
  return error instanceof LeaseLost || isUnavailable(error);
}
