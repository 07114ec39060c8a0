import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { pino } from "pino";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { PlimsollError } from "../../errors.ts";
import { projectRoot } from "../../root.ts";
import { emptyDatabase, testDatabase } from "../../testing/database.ts";
import { migrate, migrationList, NO_FILTER, pending, readMigrations } from "./migrate.ts";
import { withSchemaEngine } from "./schema-engine.ts";

const log = pino({ level: "silent" });

describe("migrations", () => {
  it("agree with schema.prisma", async () => {
    const database = await emptyDatabase();
    try {
      const root = projectRoot();
      const migrationsList = migrationList(await readMigrations());
      const schema = await readFile(join(root, "prisma", "schema.prisma"), "utf8");
      const { stdout } = await withSchemaEngine(database.url, root, (engine) =>
        engine.diff({
          from: { tag: "migrations", ...migrationsList },
          to: { tag: "schemaDatamodel", files: [{ path: "schema.prisma", content: schema }] },
          script: true,
          exitCode: null,
          filters: NO_FILTER,
        }),
      );
      expect(stdout?.trim()).toBe("-- This is an empty migration.");
    } finally {
      await database.close();
    }
  });

  it("each begin with a reason", async () => {
    for (const { name, script } of await readMigrations()) {
      expect(script.trimStart().startsWith("--"), `${name} starts with a comment`).toBe(true);
    }
  });

  it("are applied in a test database", async () => {
    const database = await testDatabase();
    expect(await database.prisma.project.count()).toBe(0);
    await database.close();
  });
});

describe("migrate", () => {
  let database: Awaited<ReturnType<typeof emptyDatabase>>;
  let root: string;

  beforeEach(async () => {
    database = await emptyDatabase();
    root = await mkdtemp(join(tmpdir(), "plimsoll-migrations-"));
    await mkdir(join(root, "prisma"));
    await writeFile(join(root, "prisma", "schema.prisma"), 'datasource db {\n  provider = "postgresql"\n}\n');
    await add("0001_first", "-- The first.\nCREATE TABLE first (id int PRIMARY KEY);\n");
  });
  afterEach(async () => {
    await database.close();
    await rm(root, { recursive: true });
  });

  async function add(name: string, sql: string) {
    await mkdir(join(root, "prisma", "migrations", name), { recursive: true });
    await writeFile(join(root, "prisma", "migrations", name, "migration.sql"), sql);
  }
  const run = () => migrate({ url: database.url, log, root });

  it("applies each new migration once, and records it as Prisma does", async () => {
    expect(await run()).toEqual(["0001_first"]);
    expect(await run()).toEqual([]);
    await add("0002_second", "-- The second.\nALTER TABLE first ADD COLUMN name text;\n");
    expect(await run()).toEqual(["0002_second"]);
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    const { rows } = await client.query("SELECT migration_name, checksum FROM _prisma_migrations ORDER BY 1");
    await client.end();
    expect(rows.map((row) => row.migration_name)).toEqual(["0001_first", "0002_second"]);
    expect(rows.map((row) => row.checksum)).toEqual((await readMigrations(root)).map((m) => m.checksum));
  });

  it("lets several processes start together", async () => {
    const results = await Promise.all([run(), run(), run(), run()]);
    expect(results.flat()).toEqual(["0001_first"]);
  });

  it("rolls back a migration that fails, and says how to continue", async () => {
    await run();
    await add("0002_broken", "-- Broken.\nCREATE TABLE half (id int); -- a; b\nSELECT 1 / 0;\n");
    await expect(run()).rejects.toMatchObject({ code: "database_unsafe", message: /division by zero/ });
    await expect(run()).rejects.toMatchObject({ code: "database_unsafe", hint: /--rolled-back 0002_broken/ });
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    const { rows } = await client.query("SELECT to_regclass('half') AS half");
    await client.end();
    expect(rows[0].half).toBeNull();
  });

  it("refuses a database of a newer version", async () => {
    await add("0002_later", "-- Later.\nSELECT 1;\n");
    await run();
    await cp(join(root, "prisma"), join(root, "old", "prisma"), { recursive: true });
    await rm(join(root, "old", "prisma", "migrations", "0002_later"), { recursive: true });
    const old = migrate({ url: database.url, log, root: join(root, "old") });
    await expect(old).rejects.toMatchObject({ code: "database_unsafe", message: /newer Plimsoll/ });
  });

  it("says which host is down", async () => {
    const error = await migrate({ url: "postgresql://me:hunter2@127.0.0.1:1/x", log, root }).catch((e) => e);
    expect(error).toBeInstanceOf(PlimsollError);
    expect(error.code).toBe("database_unreachable");
    expect(error.message).toContain("127.0.0.1:1");
    expect(error.message).not.toContain("hunter2");
  });
});

describe("pending", () => {
  const known = [{ name: "0001_a", script: "", checksum: "x" }];

  it("only warns about a migration that was edited", () => {
    expect(pending(known, [{ name: "0001_a", checksum: "y", finished: true }], log)).toEqual([]);
  });
});
