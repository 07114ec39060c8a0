import pg from "pg";
import type { Logger } from "pino";
import { PlimsollError } from "../errors.ts";
import { connectionOptions } from "./connections.ts";
import { explainUnreachable, shownUrl } from "./reach.ts";

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
 * Connects once and checks that commits survive a crash.
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
  if (Math.floor(found.version / 10_000) > NEWEST) {
    options.log.warn(
      { version: found.version },
      "this PostgreSQL is newer than any that Plimsoll is tested with",
    );
  }
  return found;
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
