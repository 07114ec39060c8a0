import { createHash } from "node:crypto";
import { promisify } from "node:util";
import { inflateRaw } from "node:zlib";
import { DEFAULT_PROJECT_ID } from "@plimsoll/protocol/api";
import {
  BACKUP_FRAME_BYTES,
  BackupError,
  type BackupManifest,
  type BackupPart,
  BackupReader,
  type BackupTable,
  type RestoreResult,
} from "@plimsoll/protocol/backup";
import pg from "pg";
import { BODY_LIMITS } from "../../bodies/body-budget.ts";
import { CLOSE_LIMIT, within } from "../../db/within.ts";
import { PlimsollError } from "../../errors.ts";
import { inOneTransaction } from "./connection.ts";
import { CopyIn } from "./copy-in.ts";
import {
  BACKED_UP,
  BACKED_UP_NAMES,
  copyTarget,
  describeTables,
  OWN_ROWS,
  readMigrationNames,
  type StoredTable,
} from "./tables.ts";
import { CONVERT_UNRELEASED, isUnreleased, TAKE_UNRELEASED } from "./unreleased.ts";

const decompress = promisify(inflateRaw);
/** Bytes of rows that may come from any number of compressed bytes. */
const FREE_BYTES = 64 * 1024 * 1024;
/** The longest row is a group of requests in the journal. */
const MOST_ROW_BYTES = 256 * 1024 * 1024;
const LINE_FEED = 0x0a;
/** Advisory lock of the process that restores. */
export const RESTORE_LOCK = 0x504c4d52;

export interface RestoreOptions {
  /** Connection URL. */
  url: string;
  /** Of this server. */
  version: string;
  /** The backup. */
  body: AsyncIterable<Uint8Array>;
  /** Ends the transaction. */
  signal: AbortSignal;
  /** Bytes of the longest row; by default as many as PostgreSQL can collect without harm. */
  mostRowBytes?: number;
}

export interface Restored {
  result: RestoreResult;
  projectIds: number[];
}

/**
 * Restores a backup into an empty database, in one transaction: it is there whole, or nothing changed. Writers wait
 * meanwhile, or fail with a lock timeout and try again. Caches are left to the caller.
 * @throws PlimsollError `bad_request` for a damaged backup, `conflict` if the database is not empty, another restore is
 * under way or the backup belongs to another version; errors of the database and of `body`
 */
export async function restoreBackup(options: RestoreOptions): Promise<Restored> {
  const { url, version, body, signal, mostRowBytes = MOST_ROW_BYTES } = options;
  try {
    return await inOneTransaction(url, "BEGIN", signal, async (client) => {
      const restore = new Restore(client, version, mostRowBytes);
      const reader = new BackupReader(createHash("sha256"));
      try {
        for await (const bytes of body) {
          for (const part of reader.push(bytes)) await restore.take(part);
        }
        reader.end();
        return await restore.finish();
      } catch (error) {
        await restore.abandon();
        throw error;
      }
    });
  } catch (error) {
    throw explain(error);
  }
}

class Restore {
  readonly #client: pg.Client;
  readonly #version: string;
  readonly #mostRowBytes: number;
  #manifest: BackupManifest | undefined;
  #stored = new Map<string, StoredTable>();
  #copy: CopyIn | undefined;
  #rows = 0;
  /** Bytes of all sections with rows. */
  #compressed = 0;
  #decompressed = 0;
  /** Bytes of the row that is being read. */
  #row = 0;

  constructor(client: pg.Client, version: string, mostRowBytes: number) {
    this.#mostRowBytes = mostRowBytes;
    this.#client = client;
    this.#version = version;
  }

  async take(part: BackupPart): Promise<void> {
    switch (part.kind) {
      case "manifest":
        return this.#begin(part.manifest);
      case "table":
        this.#copy = new CopyIn(this.#client, copyTarget(part.table));
        return;
      case "data":
        return this.#write(part.data);
      case "table_end":
        return this.#endTable(part.table, part.rows);
      case "end":
        this.#rows = part.trailer.rows;
        return;
    }
  }

  async #write(data: Uint8Array): Promise<void> {
    const rows = await decompressed(data);
    this.#compressed += data.length;
    this.#decompressed += rows.length;
    // Each section may be full, and a file of them fill the disk.
    if (this.#decompressed > FREE_BYTES + this.#compressed * BODY_LIMITS.expansion)
      throw new BackupError(
        "altered",
        `The backup is damaged: its rows become more than ${BODY_LIMITS.expansion} times as large once decompressed.`,
      );
    const lastEnd = rows.lastIndexOf(LINE_FEED);
    this.#row = lastEnd < 0 ? this.#row + rows.length : rows.length - lastEnd - 1;
    // PostgreSQL collects a row in memory, up to 1 GB.
    if (this.#row > this.#mostRowBytes)
      throw new BackupError(
        "altered",
        `The backup is damaged: a row of more than ${this.#mostRowBytes} bytes does not end.`,
      );
    await this.#copy!.write(rows);
  }

  /** Ends a COPY that is under way, so that the connection can roll back. */
  async abandon(): Promise<void> {
    await within(CLOSE_LIMIT, this.#copy?.abandon() ?? Promise.resolve()).catch(() => {});
  }

  /** Prepares the commit. */
  async finish(): Promise<Restored> {
    if (isUnreleased(this.#manifest!)) await this.#client.query(CONVERT_UNRELEASED);
    for (const table of this.#manifest!.tables) await this.#advanceSequences(table);
    const { rows: projects } = await this.#client.query<{ id: number }>(
      "SELECT id FROM projects ORDER BY id",
    );
    const projectIds = projects.map(({ id }) => id);
    if (!projectIds.includes(DEFAULT_PROJECT_ID))
      throw new BackupError("altered", "The backup is damaged: it has no default project.");
    const { rows } = await this.#client.query<Record<"sessions" | "turns" | "waiting", number>>(
      `SELECT (SELECT count(*) FROM sessions)::float8 AS sessions,
         (SELECT COALESCE(sum(turns), 0) FROM sessions)::float8 AS turns,
         (SELECT COALESCE(sum(events), 0) FROM journal)::float8 AS waiting`,
    );
    const { sessions, turns, waiting } = rows[0]!;
    const result = {
      projects: projectIds.length,
      sessions,
      turns,
      waiting_events: waiting,
      rows: this.#rows,
    };
    return { result, projectIds };
  }

  async #begin(manifest: BackupManifest): Promise<void> {
    const client = this.#client;
    const { rows } = await client.query<{ locked: boolean }>(
      "SELECT pg_try_advisory_xact_lock($1) AS locked",
      [RESTORE_LOCK],
    );
    if (!rows[0]!.locked) throw new PlimsollError("conflict", "Another restore is under way.");
    // The leases first, as every projector does. A higher epoch makes projectors forget what they remember.
    await client.query("LOCK TABLE projectors IN SHARE ROW EXCLUSIVE MODE");
    await client.query("UPDATE projectors SET epoch = epoch + 1, holder = NULL");
    await client.query(`LOCK TABLE ${BACKED_UP_NAMES} IN SHARE ROW EXCLUSIVE MODE`);
    if (isUnreleased(manifest)) await client.query(TAKE_UNRELEASED);
    else this.#requireSameVersion(manifest, await readMigrationNames(client));
    this.#stored = new Map((await describeTables(client)).map((table) => [table.name, table]));
    this.#requireSameTables(manifest);
    await this.#requireEmpty();
    for (const table of Object.keys(OWN_ROWS))
      await client.query(`DELETE FROM ${pg.escapeIdentifier(table)}`);
    this.#manifest = manifest;
  }

  /** Migrations change what is stored, not only where: rows from before one are wrong after it. */
  #requireSameVersion({ plimsoll, migrations }: BackupManifest, own: readonly string[]): void {
    if (migrations.join() === own.join()) return;
    throw new PlimsollError(
      "conflict",
      `The backup was made by Plimsoll ${plimsoll} (${described(migrations)}), and this server is Plimsoll ${this.#version} (${described(own)}). ` +
        `Restore it with Plimsoll ${plimsoll}, then upgrade that server. Nothing was restored.`,
      { details: { reason: "other_version", backup: migrations, server: own } },
    );
  }

  #requireSameTables({ tables }: BackupManifest): void {
    const shape = (table: Pick<BackupTable, "name" | "columns">) =>
      `${table.name}: ${table.columns.map(({ name, type }) => `${name} ${type}`).sort()}`;
    const own = [...this.#stored.values()].map(shape).sort();
    const given = tables.map(shape).sort();
    if (given.join("\n") === own.join("\n")) return;
    const differing =
      given.find((table) => !own.includes(table)) ?? own.find((table) => !given.includes(table));
    throw new PlimsollError(
      "conflict",
      `The tables of the backup are not the tables of this server. The first that differs is ${differing}. Nothing was restored.`,
      { details: { reason: "other_tables" } },
    );
  }

  async #requireEmpty(): Promise<void> {
    const used: string[] = [];
    for (const table of BACKED_UP) {
      const where = table in OWN_ROWS ? `WHERE NOT (${OWN_ROWS[table]})` : "";
      const { rows } = await this.#client.query(
        `SELECT 1 FROM ${pg.escapeIdentifier(table)} ${where} LIMIT 1`,
      );
      if (rows.length > 0) used.push(table);
    }
    if (used.length === 0) return;
    throw new PlimsollError(
      "conflict",
      `A backup is restored only into an empty server, and this one has rows in ${used.join(", ")}. ` +
        "Start a server with an empty PLIMSOLL_HOME or an empty database, and restore there. Nothing was restored.",
      { details: { reason: "not_empty", tables: used } },
    );
  }

  async #endTable({ name }: BackupTable, rows: number): Promise<void> {
    const sent = await this.#copy!.end();
    this.#copy = undefined;
    if (sent === rows) return;
    throw new BackupError(
      "altered",
      `The backup is damaged: it has ${sent} rows of ${name} instead of ${rows}.`,
    );
  }

  async #advanceSequences({ name, sequences }: BackupTable): Promise<void> {
    for (const { column, sequence } of this.#stored.get(name)!.sequences) {
      const last = sequences.find((given) => given.column === column)?.last ?? 0;
      const { rows } = await this.#client.query<{ next: string }>(
        `SELECT greatest(max(${pg.escapeIdentifier(column)}), $1::int8) + 1 AS next FROM ${pg.escapeIdentifier(name)}`,
        [last],
      );
      // Not undone if the transaction fails: some numbers are skipped then. Citus alters no sequence of a distributed table.
      await this.#client.query("SELECT setval($1::regclass, $2::int8, false)", [sequence, rows[0]!.next]);
    }
  }
}

async function decompressed(data: Uint8Array): Promise<Uint8Array> {
  try {
    return await decompress(data, { maxOutputLength: BACKUP_FRAME_BYTES });
  } catch (cause) {
    throw new BackupError("altered", "The backup is damaged: its rows cannot be decompressed.", { cause });
  }
}

/** Collects statistics for the planner: without them, the first queries after a restore are slow. */
export async function analyzeTables(url: string, signal: AbortSignal): Promise<void> {
  await inOneTransaction(url, "BEGIN", signal, (client) => client.query(`ANALYZE ${BACKED_UP_NAMES}`));
}

const described = (migrations: readonly string[]) =>
  `${migrations.length} migrations, the last is ${migrations.at(-1) ?? "none"}`;

/** SQLSTATEs that say that a row is wrong: a value that does not fit, and a key that is there twice. */
const ROW_REFUSED = /^2[23]/;

function explain(error: unknown): unknown {
  if (error instanceof BackupError) {
    return new PlimsollError("bad_request", `${error.message} Nothing was restored.`, {
      details: { reason: error.reason },
      cause: error,
    });
  }
  const { code, table } = error as { code?: unknown; table?: unknown };
  if (!(error instanceof PlimsollError) && typeof code === "string" && ROW_REFUSED.test(code)) {
    return new PlimsollError(
      "bad_request",
      `The backup is damaged: PostgreSQL refuses one of its rows${table ? ` of ${table}` : ""} (${(error as Error).message}). Nothing was restored.`,
      { details: { reason: "altered" }, cause: error },
    );
  }
  return error;
}
