import { realpath } from "node:fs/promises";
import pg from "pg";
import { SUPERUSER } from "./postgres/initdb.ts";

/** Where an embedded server listens: a socket folder or a loopback address. */
export interface Address {
  host: string;
  port: number;
}

/** Milliseconds a server may take to answer. A paused one never does. */
const ANSWER_LIMIT = 3_000;

export type JoinAnswer =
  | { kind: "joined"; presence: Presence }
  | { kind: "busy" | "absent" }
  | { kind: "refused" | "failed"; error: Error };

/** Any number, as long as every version of Plimsoll uses the same. */
const PRESENCE_LOCK = 0x504c494d;

/**
 * One session on the maintenance database that marks "a Plimsoll process uses this server" with a shared
 * advisory lock. The server releases the lock when the process ends for any reason, so the mark cannot go
 * stale. A process that can take the lock exclusively is the last user and may stop the server. A new process
 * that cannot take the lock shared knows that the server is stopping.
 */
export class Presence {
  /** Unix time in seconds at which the postmaster started. */
  readonly startedAt: number;
  readonly client: pg.Client;
  private lost = false;
  private listener: (() => void) | undefined;

  private constructor(client: pg.Client, startedAt: number) {
    this.client = client;
    this.startedAt = startedAt;
    const lose = () => {
      if (this.lost) return;
      this.lost = true;
      this.listener?.();
    };
    client.on("error", lose);
    client.on("end", lose);
  }

  /**
   * Tries to join the server at `address`.
   * - `joined`: it serves this data folder and we hold the lock
   * - `busy`: it is starting, stopping, or out of connections
   * - `refused`: a PostgreSQL answers and rejects our login, with its reason
   * - `failed`: a PostgreSQL answers and cannot open its own files, with its reason
   * - `absent`: no server of ours answers there
   */
  static async join(address: Address, password: string, dataDirectory: string): Promise<JoinAnswer> {
    const client = new pg.Client({
      ...address,
      user: SUPERUSER,
      password,
      database: "postgres",
      application_name: "plimsoll supervisor",
      connectionTimeoutMillis: ANSWER_LIMIT,
      query_timeout: ANSWER_LIMIT,
    });
    // Without a listener, a connection lost between two queries would end the process.
    client.on("error", () => {});
    try {
      await client.connect();
      const { rows } = await client.query<{ folder: string; started: number; joined: boolean }>(
        `SELECT current_setting('data_directory') AS folder,
                extract(epoch FROM pg_postmaster_start_time())::int AS started,
                pg_try_advisory_lock_shared(${PRESENCE_LOCK}) AS joined`,
      );
      const row = rows[0]!;
      if ((await samePlace(row.folder, dataDirectory)) && row.joined) {
        return { kind: "joined", presence: new Presence(client, row.started) };
      }
      const kind = (await samePlace(row.folder, dataDirectory)) ? "busy" : "absent";
      await client.end();
      return { kind };
    } catch (error) {
      await client.end().catch(() => {});
      return explainFailure(error);
    }
  }

  /** Calls `listener` once when the connection to the server is lost, immediately if it already is. */
  onLost(listener: () => void): void {
    if (this.lost) listener();
    else this.listener = listener;
  }

  /**
   * Gives up our share.
   * @returns true when no other process holds one. Then no process can join until this session ends.
   */
  async leave(): Promise<boolean> {
    this.listener = undefined;
    if (this.lost) return false;
    const { rows } = await this.client.query<{ last: boolean }>(
      `SELECT pg_advisory_unlock_shared(${PRESENCE_LOCK}), pg_try_advisory_lock(${PRESENCE_LOCK}) AS last`,
    );
    return rows[0]?.last === true;
  }

  async close(): Promise<void> {
    this.listener = undefined;
    if (!this.lost) await this.client.end().catch(() => {});
  }
}

async function samePlace(a: string, b: string): Promise<boolean> {
  if (a === b) return true;
  const [x, y] = await Promise.all([a, b].map((path) => realpath(path).catch(() => path)));
  return x === y;
}

function explainFailure(error: unknown): JoinAnswer {
  if (!(error instanceof pg.DatabaseError)) {
    // Connection refused, no such socket, connection reset, no answer in time, or not a PostgreSQL at all.
    return { kind: "absent" };
  }
  const code = error.code ?? "";
  // Starting up or shutting down; killed during the login; all connections in use.
  if (["57P03", "57P01", "57P02", "53300"].includes(code)) return { kind: "busy" };
  return { kind: code.startsWith("28") ? "refused" : "failed", error };
}
