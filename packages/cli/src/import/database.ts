import type { Stats } from "node:fs";
import { constants, copyFile, mkdtemp, open, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { asArray, asObject, asText, parseObject } from "@plimsoll/harnesses/recordings";
import { decompress } from "fzstd";
import sqlite, { type Database } from "node-sqlite3-wasm";
import { sleep } from "../sleep.ts";

type Row = Record<string, unknown>;

const COPY_TRIES = 5;
const COPY_WAIT_MS = 100;
/** The salts in a write-ahead log's header, which change when the log starts over. */
const LOG_HEADER_BYTES = 32;

/** Which program wrote a database, by its tables and their columns. */
type DatabaseOwner = "opencode" | "zed" | "goose" | "crush";

/** Returns the program that wrote a database, or undefined if it is not known. */
export async function databaseOwner(location: string): Promise<DatabaseOwner | undefined> {
  return withSnapshot(location, ownerOf);
}

function ownerOf(database: Database): DatabaseOwner | undefined {
  if (hasColumns(database, "message", "session_id", "data") && hasColumns(database, "session", "parent_id"))
    return "opencode";
  if (hasColumns(database, "threads", "data_type", "data", "updated_at")) return "zed";
  if (hasColumns(database, "sessions", "accumulated_total_tokens")) return "goose";
  return hasColumns(database, "sessions", "prompt_tokens", "summary_message_id") ? "crush" : undefined;
}

function hasColumns(database: Database, table: string, ...columns: string[]): boolean {
  const found = new Set(
    database.all("SELECT name FROM pragma_table_info(?)", [table]).map(({ name }) => name),
  );
  return columns.every((column) => found.has(column));
}

/** Yields the rows that a reader needs, as JSON objects with the name of their `table`. */
export async function* databaseRows(location: string): AsyncGenerator<{ lines: string[]; bytes: number }> {
  const { size } = await stat(location);
  const lines = await withSnapshot(location, (database) => {
    const owner = ownerOf(database);
    return owner === "opencode" ? opencodeRows(database) : owner === "zed" ? zedRows(database) : [];
  });
  yield { lines, bytes: size };
}

function opencodeRows(database: Database): string[] {
  const lines: string[] = [];
  const add = (table: string, sql: string) => {
    for (const row of database.all(sql)) lines.push(JSON.stringify({ table, ...row }));
  };
  add("session", "SELECT id, parent_id, title, time_created FROM session");
  // The data of a user's message may contain whole diffs, and counts are only in the others.
  add(
    "message",
    `SELECT id, session_id, time_created, data FROM message WHERE json_valid(data) AND data ->> '$.role' = 'assistant'`,
  );
  add(
    "part",
    `SELECT id, message_id, session_id, time_created, data FROM part
     WHERE message_id IN (SELECT data ->> '$.parentID' FROM message WHERE json_valid(data) AND data ->> '$.summary' = 1)
       AND json_valid(data) AND data ->> '$.type' = 'compaction'`,
  );
  // Results may be whole files. What came of a call is beside them.
  add(
    "part",
    `SELECT id, message_id, session_id, time_created, json_object(
       'type', 'tool', 'tool', data ->> '$.tool', 'callID', data ->> '$.callID', 'state', json_object(
         'status', data ->> '$.state.status', 'input', json(data -> '$.state.input'),
         'error', substr(data ->> '$.state.error', 1, 200),
         'metadata', json_object('exit', data ->> '$.state.metadata.exit'),
         'time', json_object('start', data ->> '$.state.time.start')
       )
     ) AS data FROM part WHERE json_valid(data) AND data ->> '$.type' = 'tool'`,
  );
  return lines;
}

function zedRows(database: Database): string[] {
  const parent = hasColumns(database, "threads", "parent_id") ? "parent_id" : "NULL AS parent_id";
  return database
    .all(`SELECT id, summary, updated_at, ${parent}, data_type, data FROM threads`)
    .map(({ data_type, data, ...row }: Row) =>
      JSON.stringify({ table: "threads", ...row, thread: zedThread(data_type, data) }),
    );
}

/** The counts of a thread, and the ids of its prompts in order. */
function zedThread(type: unknown, data: unknown): Row | undefined {
  const text = blobText(type, data);
  const thread = text === undefined ? undefined : parseObject(text);
  if (thread === undefined) return undefined;
  const prompts = asArray(thread.messages).flatMap((message) => {
    const id = asText(asObject(asObject(message)?.User)?.id);
    return id === undefined ? [] : [id];
  });
  const { model, request_token_usage, subagent_context } = thread;
  return { model, request_token_usage, subagent_context, prompts };
}

function blobText(type: unknown, data: unknown): string | undefined {
  if (typeof data === "string") return data;
  if (!(data instanceof Uint8Array)) return undefined;
  try {
    return Buffer.from(type === "zstd" ? decompress(data) : data).toString("utf8");
  } catch {
    return undefined;
  }
}

/**
 * Opens a copy of a database, with what its write-ahead log holds. Opening the database itself could block its owner.
 * @throws if it is not a database, or changes too fast to copy
 */
async function withSnapshot<T>(location: string, use: (database: Database) => T): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), "plimsoll-database-"));
  try {
    const copy = join(folder, "copy.db");
    await copyDatabase(location, copy);
    const database = new sqlite.Database(copy, { fileMustExist: true });
    try {
      // Without shared memory, SQLite reads a write-ahead log only in this mode.
      database.exec("PRAGMA locking_mode = EXCLUSIVE");
      return use(database);
    } finally {
      database.close();
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Copies until nothing changed meanwhile. While the log does not start over, it has every page that a checkpoint moves. */
async function copyDatabase(location: string, copy: string): Promise<void> {
  for (let tries = 0; tries < COPY_TRIES; tries += 1) {
    if (tries > 0) await sleep(COPY_WAIT_MS);
    if (await exists(`${location}-journal`)) continue;
    const [log, file] = [await logHeader(location), await stat(location)];
    await copyFile(location, copy, constants.COPYFILE_FICLONE);
    await rm(`${copy}-wal`, { force: true });
    if (log !== undefined) await copyFile(`${location}-wal`, `${copy}-wal`).catch(() => undefined);
    const [logAfter, fileAfter] = [await logHeader(location), await stat(location)];
    if (log === logAfter && (log !== undefined || isSame(file, fileAfter))) return;
  }
  throw new Error("The database changed while it was copied.");
}

const isSame = (a: Stats, b: Stats): boolean =>
  a.size === b.size && a.mtimeMs === b.mtimeMs && a.ino === b.ino;

/** Undefined if there is no log, or an empty one. */
async function logHeader(location: string): Promise<string | undefined> {
  const file = await open(`${location}-wal`, "r").catch(() => undefined);
  if (file === undefined) return undefined;
  try {
    const { bytesRead, buffer } = await file.read(Buffer.alloc(LOG_HEADER_BYTES), 0, LOG_HEADER_BYTES, 0);
    return bytesRead < LOG_HEADER_BYTES ? undefined : buffer.toString("hex");
  } finally {
    await file.close();
  }
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    ({ size }) => size > 0,
    () => false,
  );
}
