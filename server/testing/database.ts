import { randomBytes } from "node:crypto";
import { join } from "node:path";
import pg from "pg";
import { pino } from "pino";
import { inject } from "vitest";
import { openDatabase, type PrismaClient } from "../db/client.ts";
import { migrate, readMigrations } from "../db/migrations/migrate.ts";
import { startEmbedded } from "../db/postgres/embedded.ts";
import { joinCitus } from "./citus.ts";

const log = pino({ level: "silent" });

/** Advisory lock of the worker that makes the template; the others wait for it. */
const TEMPLATE_LOCK = 0x504c5454;

export interface TestDatabase {
  prisma: PrismaClient;
  /** A superuser's connection URL, for a connection of one's own. */
  url: string;
  /** Drops the database. */
  close(): Promise<void>;
}

/** A migrated, empty database that nobody else uses, and a client of it. See `migratedDatabase`. */
export async function testDatabase(options: { poolSize?: number } = {}): Promise<TestDatabase> {
  const { url, close } = await migratedDatabase();
  const prisma = openDatabase({ url, poolSize: options.poolSize ?? 4, log });
  return {
    prisma,
    url,
    async close() {
      await prisma.$disconnect();
      await close();
    },
  };
}

type OwnDatabase = Pick<TestDatabase, "url" | "close">;

/**
 * A migrated, empty database that nobody else uses; about 20 ms once the first one was made. It lives in the PostgreSQL of this
 * worker: an embedded one, or the one in TEST_DATABASE_URL, whose user must be allowed to create databases.
 */
export async function migratedDatabase(): Promise<OwnDatabase> {
  return inject("citus") ? emptyDatabase() : createDatabase(await templateName());
}

/** A database without any table, for tests of the migrations themselves. On Citus, its tables are there and distributed. */
export async function emptyDatabase(): Promise<OwnDatabase> {
  const citus = inject("citus");
  return citus ? joinCitus(citus).createDatabase({ migrated: true }) : createDatabase("template0");
}

async function createDatabase(template: string): Promise<OwnDatabase> {
  const name = `test_${randomBytes(8).toString("hex")}`;
  // Eight times as fast as to write each page to the WAL.
  await asAdmin((admin) => admin.query(`CREATE DATABASE ${name} TEMPLATE ${template} STRATEGY FILE_COPY`));
  return {
    url: withDatabase(await adminUrl(), name),
    close: () =>
      asAdmin((admin) => admin.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)).then(() => {}),
  };
}

let admin: Promise<string> | undefined;
let template: Promise<string> | undefined;

/** The same for the whole worker. Nothing stops the cluster here: the global set-up does, at the end. */
function adminUrl(): Promise<string> {
  const homes = inject("testHomes");
  if (homes === undefined) throw new Error("Add what this test imports to OUTSIDE in vitest.config.ts.");
  admin ??= process.env.TEST_DATABASE_URL
    ? Promise.resolve(process.env.TEST_DATABASE_URL)
    : startEmbedded({ home: join(homes, process.env.VITEST_POOL_ID ?? "1"), log }).then(
        (cluster) => cluster.adminUrl,
      );
  return admin;
}

async function asAdmin<T>(work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: await adminUrl() });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** The name tells what is in it, so that a database of one's own keeps a template per set of migrations. */
function templateName(): Promise<string> {
  template ??= makeTemplate();
  return template;
}

async function makeTemplate(): Promise<string> {
  const migrations = await readMigrations();
  const stamp = migrations
    .map(({ checksum }) => checksum.slice(0, 8))
    .join("")
    .slice(-16);
  const name = `plimsoll_template_${migrations.length}_${stamp}`;
  await asAdmin(async (client) => {
    await client.query("SELECT pg_advisory_lock($1)", [TEMPLATE_LOCK]);
    const { rows } = await client.query("SELECT 1 FROM pg_database WHERE datname = $1", [name]);
    if (rows.length > 0) return;
    // Renamed when whole, so that an interrupted run leaves no half-migrated template behind.
    await client.query(`DROP DATABASE IF EXISTS ${name}_new WITH (FORCE)`);
    await client.query(`CREATE DATABASE ${name}_new TEMPLATE template0`);
    await migrate({ url: withDatabase(await adminUrl(), `${name}_new`), log });
    await client.query(`ALTER DATABASE ${name}_new RENAME TO ${name}`);
  });
  return name;
}

function withDatabase(url: string, name: string): string {
  const changed = new URL(url);
  changed.pathname = `/${name}`;
  return changed.href;
}
