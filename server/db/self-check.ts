import { randomUUID } from "node:crypto";
import { once } from "node:events";
import pg from "pg";
import type { Logger } from "pino";
import { PlimsollError } from "../errors.ts";
import { connectionOptions } from "./connections.ts";
import { explainUnreachable, shownUrl } from "./reach.ts";

/** Milliseconds in which a notification arrives from a database that answers at all. */
const NOTIFY_MS = 5_000;

/** The server's settings that decide whether an acknowledged event survives a crash. */
export interface Durability {
  fsync: string;
  synchronousCommit: string;
  fullPageWrites: string;
  /** As in server_version_num: 180004 is 18.4. */
  version: number;
}

const OLDEST = 15;
const NEWEST = 18;

/**
 * Checks that commits survive a crash, and that each connection has a session of its own.
 * @throws PlimsollError `database_unreachable`, `database_unsafe`
 */
export async function selfCheck(options: {
  url: string;
  allowUnsafe: boolean;
  log: Logger;
}): Promise<Durability> {
  const found = await readDurability(options.url);
  const { wrong, fatal } = judge(found);
  if (fatal) throw unsafe(options.url, fatal, "Use PostgreSQL 15, 16, 17 or 18.");
  if (wrong.length > 0) {
    const list = wrong.join(", ");
    if (!options.allowUnsafe) {
      throw unsafe(
        options.url,
        `it can lose events it has acknowledged: ${list}`,
        "Set these to on. If its storage is durable by other means, set DATABASE_ALLOW_UNSAFE=true.",
      );
    }
    options.log.warn(
      { wrong },
      "this database can lose acknowledged events; DATABASE_ALLOW_UNSAFE accepts it",
    );
  }
  if (!(await keepsSession(options.url))) {
    throw unsafe(
      options.url,
      "a pooler in front of it does not give each connection a session of its own",
      "Use the address of PostgreSQL itself. PgBouncer also works with pool_mode = session and a pool of 30 connections for each server process.",
    );
  }
  if (Math.floor(found.version / 10_000) > NEWEST) {
    options.log.warn(
      { version: found.version },
      "this PostgreSQL is newer than any that Plimsoll is tested with",
    );
  }
  return found;
}

/**
 * Whether LISTEN and session locks work. Without a pooler they do, and PostgreSQL gives the id of its process at the login. Behind a
 * pooler, a notification that arrives proves it.
 */
async function keepsSession(url: string): Promise<boolean> {
  const options = connectionOptions(url, "listen");
  const [listener, sender] = [new pg.Client(options), new pg.Client(options)];
  for (const client of [listener, sender]) client.on("error", () => {});
  try {
    await listener.connect();
    const { rows } = await listener.query<{ pid: number }>("SELECT pg_backend_pid() AS pid");
    const { processID } = listener as pg.Client & { processID: number | null };
    return rows[0]!.pid === processID || (await hears(listener, sender));
  } catch (error) {
    throw explainUnreachable(error, url);
  } finally {
    await Promise.all([listener, sender].map((client) => client.end().catch(() => {})));
  }
}

/** Whether one connection hears what another one sends. Never throws. */
async function hears(listener: pg.Client, sender: pg.Client): Promise<boolean> {
  const channel = `plimsoll_${randomUUID().replaceAll("-", "_")}`;
  const heard = once(listener, "notification", { signal: AbortSignal.timeout(NOTIFY_MS) }).then(
    () => true,
    () => false,
  );
  try {
    await listener.query(`LISTEN ${channel}`);
    await sender.connect();
    await sender.query(`NOTIFY ${channel}`);
  } catch {
    return false;
  }
  return heard;
}

/** `fatal` is why Plimsoll cannot work with it. `wrong` lists settings that can lose acknowledged events. */
export function judge(found: Durability): { wrong: string[]; fatal?: string } {
  const major = Math.floor(found.version / 10_000);
  if (major < OLDEST) return { wrong: [], fatal: `it is version ${major}` };
  const wrong: string[] = [];
  if (found.fsync !== "on") wrong.push("fsync is off");
  // local, remote_write and remote_apply wait for our own disk as well.
  if (found.synchronousCommit === "off") wrong.push("synchronous_commit is off");
  if (found.fullPageWrites !== "on") wrong.push("full_page_writes is off");
  return { wrong };
}

const unsafe = (url: string, why: string, hint: string) =>
  new PlimsollError("database_unsafe", `Plimsoll does not use ${shownUrl(url)}: ${why}.`, { hint });

export async function readDurability(url: string): Promise<Durability> {
  const options = connectionOptions(url, "control", { connect: 10_000 });
  const client = new pg.Client(options);
  client.on("error", () => {});
  try {
    await client.connect();
    await options.onConnect(client);
    const { rows } = await client.query<Durability>(
      `SELECT current_setting('fsync') AS fsync,
              current_setting('synchronous_commit') AS "synchronousCommit",
              current_setting('full_page_writes') AS "fullPageWrites",
              current_setting('server_version_num')::int AS version`,
    );
    return rows[0]!;
  } catch (error) {
    throw explainUnreachable(error, url);
  } finally {
    await client.end().catch(() => {});
  }
}
