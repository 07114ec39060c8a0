import type { ContestedWork } from "@plimsoll/protocol/api";
import type { Logger } from "pino";
import type { Sql, WriterSql, Writers } from "./sql.ts";

/** The tables that hold leases: one row a project, so that one process does the work of each project. */
export type LeaseTable = "projectors" | "alert_evaluators";

const WORK: Record<LeaseTable, { does: string; what: string }> = {
  projectors: { does: "projects", what: "the projection" },
  alert_evaluators: { does: "evaluates the alert rules of", what: "the alert rules" },
};

/** Milliseconds without a beat after which another process takes over. */
export const PATIENCE_MS = 3_000;
/** A process that was replaced although it was alive doubles the patience from the second time on, up to so many milliseconds. */
const MOST_PATIENCE_MS = 60_000;
/** Milliseconds after the last contest for which a longer patience holds. */
const CALM_MS = 10 * 60_000;
/** Two changes of holder within so many milliseconds are a contest. */
const OFTEN_MS = 60_000;
/** Milliseconds between two beats of a holder that commits nothing meanwhile. */
const BEAT_MS = 1_000;
/** Milliseconds between two looks at the lease of another process. */
const LOOK_MS = 250;
/** A process that did not look for so long starts its count of silence again: the holder may have had nothing to do. */
const GAP_MS = 5_000;

/** Thrown if another process has taken over. Nothing of the transaction is stored. */
export class LeaseLost extends Error {
  constructor(table: LeaseTable, projectId: number) {
    super(`another process ${WORK[table].does} project ${projectId} now`);
  }
}

/** A lease as it is stored. All times in epoch ms by the database's clock; they inform people, and decide nothing alone. */
export interface LeaseRow {
  /** Null if the last holder released it. */
  holder: string | null;
  epoch: number;
  beat: number;
  patienceMs: number;
  renewedAt: number;
  changedAt: number | null;
  contestedAt: number | null;
}

/** What a process saw of the lease of another one. Times in ms, by a clock that never goes back. */
export interface LeaseObservation {
  epoch: number;
  beat: number;
  /** When this beat was first seen. */
  since: number;
  lookedAt: number;
}

export type LeaseVerdict = "released" | "own" | "alive" | "silent";

/** Whether a process may take a lease, given what it has seen of it. `now` is by the clock of `observed`. */
export function judgeLease(
  row: Pick<LeaseRow, "holder" | "epoch" | "beat">,
  {
    own,
    observed,
    patienceMs,
    now,
  }: { own: string; observed: LeaseObservation | undefined; patienceMs: number; now: number },
): LeaseVerdict {
  if (row.holder === null) return "released";
  if (row.holder === own) return "own";
  const isSame = observed !== undefined && observed.epoch === row.epoch && observed.beat === row.beat;
  return isSame && now - observed.since >= patienceMs ? "silent" : "alive";
}

/** The observation after another look at `now`. */
export function observeLease(
  row: Pick<LeaseRow, "epoch" | "beat">,
  before: LeaseObservation | undefined,
  now: number,
): LeaseObservation {
  const isSame = before !== undefined && before.epoch === row.epoch && before.beat === row.beat;
  const since = isSame && now - before.lookedAt <= GAP_MS ? before.since : now;
  return { epoch: row.epoch, beat: row.beat, since, lookedAt: now };
}

/** Milliseconds without a beat after which the holder is replaced. `now` is the database's time. */
export function patienceOf({ patienceMs, contestedAt }: LeaseRow, now: number): number {
  const isCalm = contestedAt === null || Math.abs(now - contestedAt) > CALM_MS;
  return isCalm ? PATIENCE_MS : Math.max(PATIENCE_MS, patienceMs);
}

/** What the row says of changes of holder after this one, at `now` by the database's clock. */
export function afterChange(
  { changedAt, contestedAt }: LeaseRow,
  verdict: Exclude<LeaseVerdict, "alive">,
  now: number,
): Pick<LeaseRow, "changedAt" | "contestedAt"> {
  if (verdict !== "silent") return { changedAt, contestedAt };
  const isOften = changedAt !== null && Math.abs(now - changedAt) < OFTEN_MS;
  return { changedAt: now, contestedAt: isOften ? now : contestedAt };
}

const time = (parameter: string) => `to_timestamp(${parameter}::float8 / 1000)`;
const ms = (column: string) => `(extract(epoch FROM ${column}) * 1000)::float8`;

const statementsOf = (table: LeaseTable) => ({
  read: `
SELECT holder, epoch::float8 AS epoch, beat::float8 AS beat, patience_ms AS "patienceMs", ${ms("renewed_at")} AS "renewedAt",
  ${ms("changed_at")} AS "changedAt", ${ms("contested_at")} AS "contestedAt"
FROM ${table} WHERE project_id = $1`,
  make: `
INSERT INTO ${table} (project_id, holder, epoch, renewed_at) VALUES ($1, $2::uuid, 1, ${time("$3")})
ON CONFLICT (project_id) DO NOTHING RETURNING project_id`,
  take: `
UPDATE ${table} SET holder = $2::uuid, epoch = epoch + 1, beat = beat + 1, patience_ms = $5, renewed_at = ${time("$6")},
  changed_at = ${time("$7")}, contested_at = ${time("$8")}
WHERE project_id = $1 AND epoch = $3::int8 AND beat = $4::int8 RETURNING project_id`,
  beat: `
UPDATE ${table} SET beat = beat + 1, renewed_at = ${time("$4")}
WHERE project_id = $1 AND holder = $2::uuid AND epoch = $3::int8 RETURNING project_id`,
  release: `UPDATE ${table} SET holder = NULL WHERE project_id = $1 AND holder = $2::uuid AND epoch = $3::int8`,
  contest: `
UPDATE ${table} SET contested_at = ${time("$3")}, patience_ms = CASE WHEN abs(${ms(`contested_at - ${time("$3")}`)}) < ${CALM_MS}
  THEN LEAST(GREATEST(patience_ms, ${PATIENCE_MS}) * 2, ${MOST_PATIENCE_MS}) ELSE ${PATIENCE_MS} END
WHERE project_id = $1 AND holder <> $2::uuid RETURNING patience_ms AS "patienceMs"`,
});
const STATEMENTS = {
  projectors: statementsOf("projectors"),
  alert_evaluators: statementsOf("alert_evaluators"),
};

export interface LeaseOptions {
  table: LeaseTable;
  projectId: number;
  writers: Writers;
  /** Identifies this process. */
  holder: string;
  /** The database's time in epoch ms, as far as this process knows. */
  now: () => number;
  /** Asks the holder for a beat: one that has nothing to do sends none by itself. */
  ask?: () => void;
  /** Milliseconds, by a clock that never goes back. */
  monotonic?: () => number;
}

/** The right to do the work of one project. Every transaction of the holder proves that nobody took over since. */
export class Lease {
  readonly epoch: number;
  /** The lease before this process took it; undefined if there was none. */
  readonly before: LeaseRow | undefined;
  readonly #options: LeaseOptions;
  #state: "held" | "lost" | "released" = "held";
  /** Transactions under way. Each holds the row, so that nobody can take over and no beat is due. */
  #proving = 0;
  #provenAt = performance.now();
  #beating: NodeJS.Timeout | undefined;

  constructor(options: LeaseOptions, epoch: number, before: LeaseRow | undefined) {
    this.#options = options;
    this.epoch = epoch;
    this.before = before;
  }

  /**
   * Commits what `run` writes. The lease's row stays locked until the commit, so nobody can take over before it.
   * @throws LeaseLost
   */
  async transaction<T>(run: (sql: WriterSql, prove: () => Promise<void>) => Promise<T>): Promise<T> {
    const { writers } = this.#options;
    this.requireHeld();
    this.#proving += 1;
    try {
      return await writers.transaction((sql) => run(sql, () => this.#prove(sql)));
    } finally {
      this.#proving -= 1;
      this.#provenAt = performance.now();
    }
  }

  /** @throws LeaseLost if this process is known to have lost the lease */
  requireHeld(): void {
    if (this.#state !== "held") throw this.#loss();
  }

  /** Shows other processes that this one is alive, however long its work takes. Call `rest` once it is done. */
  work(): void {
    if (this.#beating !== undefined || this.#state !== "held") return;
    this.#beating = setInterval(() => void this.#beat(), BEAT_MS).unref();
    void this.#beat();
  }

  rest(): void {
    clearInterval(this.#beating);
    this.#beating = undefined;
  }

  /** Lets another process take the lease at once. Every later transaction throws LeaseLost. */
  async release(): Promise<void> {
    this.rest();
    if (this.#state !== "held") return;
    this.#state = "released";
    const { writers, table, projectId, holder } = this.#options;
    await writers.query(STATEMENTS[table].release, projectId, holder, this.epoch);
  }

  /** Call after LeaseLost. If another process took over although this one was alive, others must wait longer if it happens again. */
  async contest(log: Pick<Logger, "warn">): Promise<void> {
    this.rest();
    const { writers, table, projectId, holder, now } = this.#options;
    const [row] = await writers.query<{ patienceMs: number }>(
      STATEMENTS[table].contest,
      projectId,
      holder,
      now(),
    );
    // Nobody took over after a restore.
    if (row === undefined) return;
    log.warn(
      { projectId, patienceMs: row.patienceMs },
      `another server took over ${WORK[table].what} although this one was alive; servers wait longer from now on`,
    );
  }

  async #prove(sql: Sql): Promise<void> {
    const { table, projectId, holder, now } = this.#options;
    const proven = await sql.execute(STATEMENTS[table].beat, projectId, holder, this.epoch, now());
    if (proven !== 1) throw this.#loss();
  }

  async #beat(): Promise<void> {
    const { writers, table, projectId, holder, now } = this.#options;
    if (this.#proving > 0 || performance.now() - this.#provenAt < BEAT_MS) return;
    this.#proving += 1;
    // A beat that fails is silence, as it should be.
    const rows = await writers
      .query(STATEMENTS[table].beat, projectId, holder, this.epoch, now())
      .catch(() => undefined);
    this.#proving -= 1;
    if (rows?.length === 0 && this.#state === "held") this.#state = "lost";
  }

  #loss(): LeaseLost {
    if (this.#state === "held") this.#state = "lost";
    const { table, projectId } = this.#options;
    return new LeaseLost(table, projectId);
  }
}

/** Takes the lease of a project as soon as it is free or its holder is silent. Keep one for as long as the project is wanted. */
export class LeaseSeeker {
  readonly #options: LeaseOptions;
  readonly #monotonic: () => number;
  #observed: LeaseObservation | undefined;

  constructor(options: LeaseOptions) {
    this.#options = options;
    this.#monotonic = options.monotonic ?? (() => performance.now());
  }

  /** Returns undefined while another process holds it. Call again soon: silence counts only while this process looks. */
  async acquire(): Promise<Lease | undefined> {
    const { writers, table, projectId, holder, now } = this.#options;
    const observed = this.#observed;
    if (observed !== undefined && this.#monotonic() - observed.lookedAt < LOOK_MS) return undefined;
    const { read, make, take } = STATEMENTS[table];
    const [row] = await writers.query<LeaseRow>(read, projectId);
    if (row === undefined) {
      const made = await writers.query(make, projectId, holder, now());
      return made.length === 0 ? undefined : new Lease(this.#options, 1, undefined);
    }
    this.#observed = observeLease(row, observed, this.#monotonic());
    const at = now();
    const patienceMs = patienceOf(row, at);
    const verdict = judgeLease(row, {
      own: holder,
      observed: this.#observed,
      patienceMs,
      now: this.#monotonic(),
    });
    if (verdict === "alive") {
      this.#options.ask?.();
      return undefined;
    }
    const { changedAt, contestedAt } = afterChange(row, verdict, at);
    const { epoch, beat } = row;
    // Waits for a transaction of the holder, and finds another beat once it has committed.
    const taken = await writers.query(
      take,
      projectId,
      holder,
      epoch,
      beat,
      patienceMs,
      at,
      changedAt,
      contestedAt,
    );
    this.#observed = undefined;
    return taken.length === 0 ? undefined : new Lease(this.#options, epoch + 1, row);
  }
}

/** Milliseconds after a contest for which it is shown. */
const TOLD_MS = 5 * 60_000;

/** Work of a project that processes have taken from each other lately. */
export interface ContestedLease {
  projectId: number;
  work: ContestedWork;
  /** Milliseconds since the last time. */
  agoMs: number;
}

const WORKS: readonly [ContestedWork, LeaseTable][] = [
  ["projection", "projectors"],
  ["alerts", "alert_evaluators"],
];

const AGO = ms("clock_timestamp() - contested_at");
const contestedIn = (table: LeaseTable) => `
SELECT project_id AS "projectId", ${AGO} AS "agoMs" FROM ${table}
WHERE (project_id = $1::int4 OR $1::int4 IS NULL) AND abs(${AGO}) < ${TOLD_MS}`;

/**
 * The work that changed hands twice within a minute, or was taken from a process that was alive, in the last 5 minutes. Of
 * all projects if none is given.
 */
export async function readContestedLeases(
  sql: Pick<Sql, "query">,
  projectId: number | null = null,
): Promise<ContestedLease[]> {
  const found = await Promise.all(
    WORKS.map(async ([work, table]) => {
      const rows = await sql.query<Omit<ContestedLease, "work">>(contestedIn(table), projectId);
      return rows.map((row) => ({ ...row, agoMs: Math.max(0, row.agoMs), work }));
    }),
  );
  return found.flat();
}

/** The same for a person. */
export function contestedInWords({ projectId, work, agoMs }: ContestedLease): string {
  const what = work === "projection" ? "the projection" : "the alert rules";
  return `Servers have taken ${what} of project ${projectId} from each other, the last time ${Math.round(agoMs / 1_000)} s ago. Check whether a server is restarted again and again, or lacks processor time.`;
}
