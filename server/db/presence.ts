import { realpath } from "node:fs/promises";
import pg from "pg";
import { SUPERUSER } from "./initdb.ts";

/** Where an embedded server listens: a socket folder or a loopback address. */
export interface Address {
  host: string;
  port: number;
}

/** Any number will do, as long as every version of Plimsoll keeps it. */
const PRESENCE_LOCK = 0x504c494d;

/**
 * One session on the maintenance database that says "a Plimsoll process uses this server", by a shared
 * advisory lock. The server drops the lock when the process ends, however it ends, so nothing can go
 * stale. Whoever can take the lock exclusively is the last one, and may stop the server; a newcomer who
 * cannot get it shared knows that the server is being stopped.
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
   * - `busy`: it is there, but starting, stopping or full
   * - `refused`: a PostgreSQL answers and does not take our password
   * - `absent`: nothing of ours answers there
   */
  static async join(
    address: Address,
    password: string,
    dataDirectory: string,
  ): Promise<{ kind: "joined"; presence: Presence } | { kind: "busy" | "refused" | "absent" }> {
    const client = new pg.Client({
      ...address,
      user: SUPERUSER,
      password,
      database: "postgres",
      application_name: "plimsoll supervisor",
      connectionTimeoutMillis: 5_000,
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
      return { kind: refusalKind(error) };
    }
  }

  /** Calls `listener` once when the server goes away under us; at once when it already has. */
  onLost(listener: () => void): void {
    if (this.lost) listener();
    else this.listener = listener;
  }

  /**
   * Gives up our share.
   * @returns true when nobody else holds one. Then nobody can join until this session ends.
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

function refusalKind(error: unknown): "busy" | "refused" | "absent" {
  const code = (error as { code?: string }).code ?? "";
  // Starting up or shutting down; killed while we spoke; all slots taken.
  if (["57P03", "57P01", "57P02", "53300"].includes(code)) return "busy";
  if (code === "28P01" || code === "28000") return "refused";
  // Refused, no such socket, reset, or not a PostgreSQL at all.
  return "absent";
}
