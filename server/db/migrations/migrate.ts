import { createHash, randomUUID } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import pg from "pg";
import type { Logger } from "pino";
import { PlimsollError } from "../../errors.ts";
import { projectRoot } from "../../root.ts";
import { explainUnreachable } from "../reach.ts";
import { throwIfStopped } from "../stopped.ts";

/** Advisory lock of the process that migrates: Prisma's own, so that `prisma migrate deploy` waits too. */
const MIGRATION_LOCK = 72_707_369;

/** As Prisma creates it. */
const CREATE_TABLE = `
CREATE TABLE IF NOT EXISTS _prisma_migrations (
  id VARCHAR(36) PRIMARY KEY,
  checksum VARCHAR(64) NOT NULL,
  finished_at TIMESTAMPTZ,
  migration_name VARCHAR(255) NOT NULL,
  logs TEXT,
  rolled_back_at TIMESTAMPTZ,
  started_at TIMESTAMPTZ NOT NULL DEFAULT now(),
  applied_steps_count INTEGER NOT NULL DEFAULT 0
)`;
const RECORD = `
INSERT INTO _prisma_migrations (id, checksum, migration_name, finished_at, applied_steps_count)
VALUES ($1, $2, $3, clock_timestamp(), 1)`;

/** The second migration of versions before 0.1.0, whose migrations became one. */
const BEFORE_RELEASE = "0002_rollup_grains";

export interface Migration {
  name: string;
  script: string;
  checksum: string;
}

/** Reads the numbered folders under prisma/migrations, in order. */
export async function readMigrations(root = projectRoot()): Promise<Migration[]> {
  const folder = join(root, "prisma", "migrations");
  const entries = await readdir(folder, { withFileTypes: true });
  const names = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  return Promise.all(
    names.sort().map(async (name) => {
      const script = await readFile(join(folder, name, "migration.sql"), "utf8");
      return { name, script, checksum: createHash("sha256").update(script).digest("hex") };
    }),
  );
}

interface Applied {
  name: string;
  checksum: string;
  finished: boolean;
}

/**
 * Brings the database to the newest migration. Processes that start together wait for each other. A migration and its record
 * are one transaction, so one that fails or is killed leaves nothing behind.
 * @param options.signal ends the wait for another process; a migration that has begun is finished
 * @returns the names of the applied migrations
 * @throws PlimsollError `database_unsafe` when a migration fails, or the database is one that this version cannot use
 */
export async function migrate(options: {
  url: string;
  log: Logger;
  root?: string;
  signal?: AbortSignal;
}): Promise<string[]> {
  const { root = projectRoot(), signal = new AbortController().signal } = options;
  const migrations = await readMigrations(root);
  const client = new pg.Client({ connectionString: options.url, connectionTimeoutMillis: 10_000 });
  client.on("error", () => {});
  // Ends the wait for another process that migrates. A migration that has begun is finished.
  const leave = () => void client.end().catch(() => {});
  signal.addEventListener("abort", leave, { once: true });
  try {
    await client.connect();
    if (pending(migrations, await readApplied(client), options.log).length === 0) return [];
    await client.query("SELECT pg_advisory_lock($1)", [MIGRATION_LOCK]);
    signal.removeEventListener("abort", leave);
    throwIfStopped(signal);
    const missing = pending(migrations, await readApplied(client), options.log);
    await client.query(CREATE_TABLE);
    for (const migration of missing) await apply(client, migration);
    const names = missing.map(({ name }) => name);
    if (names.length > 0) options.log.info({ applied: names }, "database migrated");
    return names;
  } catch (error) {
    throwIfStopped(signal);
    throw explainUnreachable(error, options.url);
  } finally {
    signal.removeEventListener("abort", leave);
    // Ends the session, and with it the lock.
    await client.end().catch(() => {});
  }
}

async function apply(client: pg.Client, { name, script, checksum }: Migration): Promise<void> {
  try {
    await client.query("BEGIN");
    // One by one: Citus sends the text around a CREATE INDEX to its workers.
    for (const statement of statementsOf(script)) await client.query(statement);
    await client.query(RECORD, [randomUUID(), checksum, name]);
    await client.query("COMMIT");
  } catch (cause) {
    throw new PlimsollError("database_unsafe", `The migration ${name} failed: ${(cause as Error).message}`, {
      cause,
      hint: "Nothing it changed was kept. Correct what it names and start again.",
    });
  }
}

/** Everything in which a semicolon ends no statement, and the semicolon. */
const SEMICOLON =
  /--[^\n]*|\/\*[\s\S]*?\*\/|E'(?:[^'\\]|\\[\s\S]|'')*'|'(?:[^']|'')*'|"(?:[^"]|"")*"|\$(\w*)\$[\s\S]*?\$\1\$|(;)/gi;

/** Divides a script into its statements. */
export function statementsOf(script: string): string[] {
  const statements: string[] = [];
  let start = 0;
  for (const { 2: semicolon, index } of script.matchAll(SEMICOLON)) {
    if (semicolon === undefined) continue;
    statements.push(script.slice(start, index));
    start = index + 1;
  }
  return [...statements, script.slice(start)].filter((statement) => statement.trim() !== "");
}

async function readApplied(client: pg.Client): Promise<Applied[]> {
  const { rows } = await client.query<{ there: boolean }>(
    "SELECT to_regclass('_prisma_migrations') IS NOT NULL AS there",
  );
  if (rows[0]?.there !== true) return [];
  const applied = await client.query<Applied>(
    `SELECT migration_name AS name, checksum, finished_at IS NOT NULL AS finished
       FROM _prisma_migrations WHERE rolled_back_at IS NULL ORDER BY started_at`,
  );
  return applied.rows;
}

/** The migrations to apply. Throws for a database that this version cannot use. */
export function pending(known: Migration[], applied: Applied[], log: Logger): Migration[] {
  if (applied.some(({ name }) => name === BEFORE_RELEASE)) {
    throw new PlimsollError(
      "database_unsafe",
      "This database was made by a Plimsoll from before 0.1.0, which this version cannot upgrade.",
      {
        hint: "Start the version that used it last, and run: npx plimsoll backup plimsoll.backup. Then start this version with another PLIMSOLL_HOME or an empty database, and run: npx plimsoll restore plimsoll.backup. See docs/operations.md, Upgrade.",
      },
    );
  }
  const failed = applied.find(({ finished }) => !finished);
  if (failed) {
    throw new PlimsollError("database_unsafe", `The migration ${failed.name} failed earlier.`, {
      hint: `Repair what it names, then mark it: npx prisma migrate resolve --rolled-back ${failed.name}.`,
    });
  }
  const byName = new Map(known.map((migration) => [migration.name, migration]));
  for (const { name, checksum } of applied) {
    const migration = byName.get(name);
    if (!migration) {
      throw new PlimsollError(
        "database_unsafe",
        `This database was migrated by a newer Plimsoll (${name}).`,
        {
          hint: "Start that version or a newer one.",
        },
      );
    }
    if (migration.checksum !== checksum) {
      log.warn({ migration: name }, "this migration was edited after it was applied");
    }
  }
  const done = new Set(applied.map(({ name }) => name));
  return known.filter(({ name }) => !done.has(name));
}
