import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { MigrationList } from "@prisma/schema-engine-wasm";
import pg from "pg";
import type { Logger } from "pino";
import { PlimsollError } from "../../errors.ts";
import { projectRoot } from "../../root.ts";
import { explainUnreachable } from "../reach.ts";
import { throwIfStopped } from "../stopped.ts";
import { SCRIPT_LOCK } from "./engine-adapter.ts";
import { packStoredTurns, turnsAreToPack } from "./pack-turns.ts";
import { withSchemaEngine } from "./schema-engine.ts";

/**
 * Advisory lock of the process that migrates. Not Prisma's own number (72707369): the engine takes that on
 * another connection, and would wait for us for ever.
 */
const MIGRATION_LOCK = 0x504c4d47;

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
 * Brings the database to the newest migration, and packs turns that an older version stored. Processes that start
 * together wait for each other. Prisma's engine is loaded only when there is something to apply.
 * @param options.signal ends the wait for another process, and the packing; a migration that has begun is finished
 * @returns the names of the applied migrations
 * @throws PlimsollError `database_unsafe` when a migration failed earlier, fails now, or is unknown to this version
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
    const before = await readApplied(client);
    // Without the lock, an unfinished migration may be one that another process is applying right now.
    const settled = before.every(({ finished }) => finished);
    const upToDate = settled && pending(migrations, before, options.log).length === 0;
    if (upToDate && !(await turnsAreToPack(client))) return [];
    await client.query("SELECT pg_advisory_lock($1)", [MIGRATION_LOCK]);
    signal.removeEventListener("abort", leave);
    throwIfStopped(signal);
    await forgetInterrupted(client);
    const names = pending(migrations, await readApplied(client), options.log);
    if (names.length > 0) {
      await applyMigrations(options.url, root, migrations);
      options.log.info({ applied: names }, "database migrated");
    }
    if (await turnsAreToPack(client)) await packStoredTurns(client, { log: options.log, signal });
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

async function applyMigrations(url: string, root: string, migrations: Migration[]): Promise<void> {
  await withSchemaEngine(url, root, async (engine) => {
    await engine.applyMigrations({ migrationsList: migrationList(migrations, root), filters: NO_FILTER });
  }).catch((cause) => {
    throw new PlimsollError("database_unsafe", `A migration failed: ${String(cause?.message ?? cause)}`, {
      cause,
      hint: "Nothing it changed was kept. Repair what it names, then mark it: npx prisma migrate resolve --rolled-back <name>.",
    });
  });
}

/**
 * Forgets migrations that a killed process left unfinished: their transactions were rolled back, so they are applied again.
 * Waits for one that the database is still running. A migration that failed has a log, and stays.
 */
async function forgetInterrupted(client: pg.Client): Promise<void> {
  if (!(await hasMigrations(client))) return;
  await client.query("SELECT pg_advisory_lock($1)", [SCRIPT_LOCK]);
  await client.query(
    "DELETE FROM _prisma_migrations WHERE finished_at IS NULL AND rolled_back_at IS NULL AND logs IS NULL",
  );
  await client.query("SELECT pg_advisory_unlock($1)", [SCRIPT_LOCK]);
}

async function hasMigrations(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query<{ there: boolean }>(
    "SELECT to_regclass('_prisma_migrations') IS NOT NULL AS there",
  );
  return rows[0]?.there === true;
}

async function readApplied(client: pg.Client): Promise<Applied[]> {
  if (!(await hasMigrations(client))) return [];
  const applied = await client.query<Applied>(
    `SELECT migration_name AS name, checksum, finished_at IS NOT NULL AS finished
       FROM _prisma_migrations WHERE rolled_back_at IS NULL ORDER BY started_at`,
  );
  return applied.rows;
}

/** The names of the migrations to apply. Throws for a database that this version cannot use. */
export function pending(known: Migration[], applied: Applied[], log: Logger): string[] {
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
  return known.map(({ name }) => name).filter((name) => !done.has(name));
}

/** Prisma's filter for tables managed elsewhere: none. */
export const NO_FILTER = { externalTables: [], externalEnums: [] };

/** The migrations in the form that Prisma's engine expects. */
export function migrationList(migrations: Migration[], root = projectRoot()): MigrationList {
  return {
    baseDir: join(root, "prisma", "migrations"),
    lockfile: { path: "migration_lock.toml", content: 'provider = "postgresql"\n' },
    shadowDbInitScript: "",
    migrationDirectories: migrations.map(({ name, script }) => ({
      path: name,
      migrationFile: { path: "migration.sql", content: { tag: "ok", value: script } },
    })),
  };
}
