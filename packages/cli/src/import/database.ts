import type { Stats } from "node:fs";
import { constants, copyFile, mkdtemp, open, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import sqlite, { type Database } from "node-sqlite3-wasm";
import { sleep } from "../sleep.ts";
import { type DatabaseOwner, ownerOf, rowsFor } from "./database-rows.ts";

const COPY_TRIES = 5;
const COPY_WAIT_MS = 100;
/** The salts in a write-ahead log's header, which change when the log starts over. */
const LOG_HEADER_BYTES = 32;

/** Returns the program that wrote a database, or undefined if it is not known. */
export async function databaseOwner(location: string): Promise<DatabaseOwner | undefined> {
  return withSnapshot(location, ownerOf);
}

/** Yields the rows that a reader needs, as JSON objects with the name of their `table`. */
export async function* databaseRows(location: string): AsyncGenerator<{ lines: string[]; bytes: number }> {
  const { size } = await stat(location);
  const lines = await withSnapshot(location, (database) => {
    const owner = ownerOf(database);
    return owner === undefined ? [] : rowsFor(owner, database);
  });
  yield { lines, bytes: size };
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
