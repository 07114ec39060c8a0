import type pg from "pg";
import { PreparingClient } from "./prepared-statements.ts";

/**
 * What a connection is for. Each purpose has its own pool, so that slow reads cannot take connections from
 * writes, or from the keys and health checks that every request needs.
 * - `reads`: pages, the REST API, exports
 * - `control`: keys, browser sessions, model numbers, readiness
 * - `maintenance`: the doctor and other work over whole tables
 * - `writer`: the transactions that write events
 * - `listen`: LISTEN and NOTIFY
 */
export type Purpose = "reads" | "control" | "maintenance" | "writer" | "listen";

/** Limits in milliseconds. PostgreSQL enforces all but the last two, which hold when it does not answer at all. */
export interface ConnectionLimits {
  /** Time one statement may run. */
  statement: number;
  /** Time one statement may wait for a lock. */
  lock: number;
  /** Time a transaction may be open without a statement. Ends the session, so that its locks are released. */
  idleInTransaction: number;
  /** Time a request waits for a free or a new connection. */
  connect: number;
  /** Time a query waits for an answer. Longer than `statement`, so that PostgreSQL's own error comes first. */
  answer: number;
}

const LIMITS: Record<Purpose, ConnectionLimits> = {
  reads: { statement: 15_000, lock: 4_000, idleInTransaction: 10_000, connect: 5_000, answer: 18_000 },
  control: { statement: 4_000, lock: 2_000, idleInTransaction: 4_000, connect: 3_000, answer: 5_000 },
  maintenance: {
    statement: 600_000,
    lock: 4_000,
    idleInTransaction: 60_000,
    connect: 5_000,
    answer: 610_000,
  },
  writer: { statement: 8_000, lock: 4_000, idleInTransaction: 2_000, connect: 4_000, answer: 9_000 },
  listen: { statement: 4_000, lock: 2_000, idleInTransaction: 4_000, connect: 5_000, answer: 5_000 },
};

/** Milliseconds of silence after which the operating system asks whether the other end is still there. */
const KEEP_ALIVE_DELAY = 10_000;

/** The parts of a pool's configuration that follow from its purpose. */
export interface ConnectionOptions extends pg.PoolConfig {
  connectionTimeoutMillis: number;
  /** For `pg.Pool`, which awaits it before the first use. Call it yourself after `pg.Client.connect`. */
  onConnect(client: Pick<pg.ClientBase, "query">): Promise<void>;
}

/**
 * Connection options for one purpose: its name in pg_stat_activity, its limits, TCP keepalive, and prepared
 * statements that survive a schema change.
 *
 * The limits are set by a statement after the login instead of in the startup message, because poolers such
 * as PgBouncer refuse startup parameters they do not know.
 *
 * @example
 * const pool = new pg.Pool({ ...connectionOptions(url, "writer"), max: 5 });
 */
export function connectionOptions(
  url: string,
  purpose: Purpose,
  changed: Partial<ConnectionLimits> = {},
): ConnectionOptions {
  const limits = { ...LIMITS[purpose], ...changed };
  const text = setSession(limits);
  return {
    connectionString: url,
    Client: PreparingClient,
    application_name: `plimsoll ${purpose}`,
    connectionTimeoutMillis: limits.connect,
    query_timeout: limits.answer,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_DELAY,
    async onConnect(client) {
      const query: pg.QueryConfig & { query_timeout: number } = { text, query_timeout: limits.connect };
      await client.query(query);
    },
  };
}

/**
 * Settings with `linux` make PostgreSQL notice a client that is gone: during a statement, and on a cut network.
 * Other systems lack some of them and answer with an error.
 */
function setSession(limits: ConnectionLimits): string {
  const always: [name: string, milliseconds: number][] = [
    ["statement_timeout", limits.statement],
    ["lock_timeout", limits.lock],
    ["idle_in_transaction_session_timeout", limits.idleInTransaction],
  ];
  const linux: [name: string, value: string][] = [
    ["client_connection_check_interval", "2s"],
    ["tcp_keepalives_idle", "10s"],
    ["tcp_keepalives_interval", "5s"],
    ["tcp_keepalives_count", "3"],
    ["tcp_user_timeout", "20s"],
  ];
  const rows = [
    ...always.map(([name, ms]) => `('${name}', '${Math.round(ms)}ms', false)`),
    ...linux.map(([name, value]) => `('${name}', '${value}', true)`),
  ];
  return `SELECT set_config(name, value, false) FROM (VALUES ${rows.join(", ")}) AS setting (name, value, linux)
    WHERE NOT linux OR version() ~ 'linux'`;
}
