import { createHash } from "node:crypto";
import { promisify } from "node:util";
import { deflateRaw } from "node:zlib";
import {
  BACKUP_CHUNK_BYTES,
  BACKUP_MAGIC,
  type BackupFrame,
  type BackupManifest,
  type BackupTrailer,
  frameHead,
} from "@plimsoll/protocol/backup";
import type pg from "pg";
import { to as copyTo } from "pg-copy-streams";
import { open } from "./connection.ts";
import {
  BACKED_UP_NAMES,
  copyTarget,
  describeTables,
  readMigrationNames,
  type StoredTable,
} from "./tables.ts";

const compress = promisify(deflateRaw);
/** Turns are packed already: higher levels cost more time than they save bytes. */
const LEVEL = 3;

/** Locks before the moment is fixed: a migration that rewrites a table would make it look empty to an older snapshot. */
const BEGIN = `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;
LOCK TABLE _prisma_migrations, ${BACKED_UP_NAMES} IN ACCESS SHARE MODE`;

export interface WriteBackupOptions {
  /** Connection URL. */
  url: string;
  /** Of this server. */
  version: string;
  /** Epoch ms. */
  now: number;
  /** Ends the transaction. Abort it when the reader is gone. */
  signal: AbortSignal;
}

/**
 * Writes a backup of all projects as they are at one moment, with what is accepted and not yet projected. Reads as fast as
 * the bytes are taken, and holds 2 MB at most in memory.
 * @throws errors of the database
 */
export async function* writeBackup({
  url,
  version,
  now,
  signal,
}: WriteBackupOptions): AsyncGenerator<Uint8Array> {
  const client = await open(url, BEGIN, signal);
  const hash = createHash("sha256");
  const hashed = (bytes: Uint8Array): Uint8Array => {
    hash.update(bytes);
    return bytes;
  };
  try {
    // The moment is fixed by now. A sequence that is read later is never behind the rows.
    const migrations = await readMigrationNames(client);
    const tables = await describeTables(client);
    const described: BackupManifest["tables"] = [];
    for (const table of tables) described.push(await withSequences(client, table));
    const manifest: BackupManifest = {
      plimsoll: version,
      created_at: new Date(now).toISOString(),
      migrations,
      tables: described,
    };
    yield hashed(Buffer.from(BACKUP_MAGIC));
    yield hashed(frame("manifest", manifest));
    let rows = 0;
    for (const table of tables) {
      yield hashed(frame("table"));
      const copy = client.query(copyTo(`COPY ${copyTarget(table)} TO STDOUT`));
      for await (const chunk of inChunks(copy))
        yield hashed(frame("data", await compress(chunk, { level: LEVEL })));
      // Its answer comes after the one that says how many rows there were.
      await client.query("SELECT 1");
      yield hashed(frame("table_end", { rows: copy.rowCount }));
      rows += copy.rowCount;
    }
    const trailer: BackupTrailer = { tables: tables.length, rows, sha256: hash.digest("hex") };
    yield frame("trailer", trailer);
  } finally {
    await client.end().catch(() => {});
  }
}

async function withSequences(
  client: pg.Client,
  { name, columns, sequences }: StoredTable,
): Promise<BackupManifest["tables"][number]> {
  const read: { column: string; last: number }[] = [];
  for (const { column, sequence } of sequences) {
    const { rows } = await client.query<{ last: string }>(
      `SELECT CASE WHEN is_called THEN last_value ELSE last_value - 1 END AS last FROM ${sequence}`,
    );
    read.push({ column, last: Number(rows[0]!.last) });
  }
  return { name, columns, sequences: read };
}

/** A frame with a payload: bytes as they are, anything else as JSON. */
function frame(kind: BackupFrame, payload: object | Uint8Array = new Uint8Array()): Uint8Array {
  const bytes = payload instanceof Uint8Array ? payload : Buffer.from(JSON.stringify(payload));
  return Buffer.concat([frameHead(kind, bytes.length), bytes]);
}

/** Gathers small chunks and divides large ones, so that each frame compresses well and fits into memory. */
async function* inChunks(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let held: Uint8Array[] = [];
  let size = 0;
  for await (let chunk of source) {
    while (size + chunk.length >= BACKUP_CHUNK_BYTES) {
      const taken = BACKUP_CHUNK_BYTES - size;
      yield Buffer.concat([...held, chunk.subarray(0, taken)]);
      chunk = chunk.subarray(taken);
      held = [];
      size = 0;
    }
    if (chunk.length > 0) held.push(chunk);
    size += chunk.length;
  }
  if (size > 0) yield Buffer.concat(held);
}
