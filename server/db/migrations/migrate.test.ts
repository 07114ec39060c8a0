import { cp, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { PlimsollError } from "../../errors.ts";
import { connectTo } from "../../testing/backends.ts";
import { emptyDatabase, testDatabase } from "../../testing/database.ts";
import { deployWithPrisma, scriptOfSchema } from "../../testing/schema-engine.ts";
import { migrate, pending, readMigrations, statementsOf } from "./migrate.ts";

const log = pino({ level: "silent" });

describe("migrations", () => {
  it("agree with schema.prisma", async () => {
    const [migrated, generated] = [await testDatabase(), await emptyDatabase()];
    try {
      const script = await scriptOfSchema(generated.url);
      const stored = await shapeOf(generated.url, script);
      expect(stored.length).toBeGreaterThan(400);
      expect(await shapeOf(migrated.url)).toEqual(stored);
    } finally {
      await migrated.close();
      await generated.close();
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

/**
 * The columns, primary keys and indexes of a database after a script. Without what schema.prisma cannot express: partial indexes,
 * and whether a list may be NULL.
 */
async function shapeOf(url: string, script = ""): Promise<string[]> {
  const client = await connectTo(url);
  try {
    await client.query(script);
    const { rows } = await client.query<{ line: string }>(`
      SELECT concat_ws(' ', c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull AND a.attndims = 0,
        pg_get_expr(d.adbin, d.adrelid)) AS line
      FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
      LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
      WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' AND c.relname <> '_prisma_migrations'
      UNION ALL
      SELECT pg_get_indexdef(i.indexrelid) || CASE WHEN i.indisprimary THEN ' PRIMARY' ELSE '' END
      FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid
      WHERE c.relnamespace = 'public'::regnamespace AND c.relname <> '_prisma_migrations' AND i.indpred IS NULL
      ORDER BY 1`);
    return rows.map(({ line }) => line);
  } finally {
    await client.end();
  }
}

describe("the statements of a script", () => {
  it("end at semicolons outside of strings, names, comments and functions", () => {
    const statements = [
      "SELECT ';' || 'it''s;' || E'\\';' || \";\".x",
      "\n-- a comment; it's one\nDO $$ BEGIN PERFORM 1; END $$",
      " /* another; */ CREATE FUNCTION f() RETURNS int LANGUAGE sql AS $body$ SELECT $$;$$; $body$",
      "\nSELECT $1, 'a'",
    ];
    expect(statementsOf(`${statements.join(";")};\n ;`)).toEqual(statements);
    expect(statementsOf("-- nothing; to do")).toEqual(["-- nothing; to do"]);
    expect(statementsOf("")).toEqual([]);
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

  it("applies each new migration once, and agrees with Prisma", async () => {
    expect(await run()).toEqual(["0001_first"]);
    expect(await run()).toEqual([]);
    await add("0002_second", "-- The second.\nALTER TABLE first ADD COLUMN name text;\n");
    expect(await deployWithPrisma(database.url, await readMigrations(root))).toEqual(["0002_second"]);
    await add("0003_third", "-- The third.\nALTER TABLE first DROP COLUMN name;\n");
    expect(await run()).toEqual(["0003_third"]);
    expect(await deployWithPrisma(database.url, await readMigrations(root))).toEqual([]);
  });

  it("lets several processes start together", async () => {
    const results = await Promise.all([run(), run(), run(), run()]);
    expect(results.flat()).toEqual(["0001_first"]);
  });

  it("keeps nothing of a migration that fails, and applies it once it is corrected", async () => {
    await add("0002_broken", "-- Broken.\nCREATE TABLE half (id int); -- a; b\nSELECT 1 / 0;\n");
    await expect(run()).rejects.toMatchObject({
      code: "database_unsafe",
      message: "The migration 0002_broken failed: division by zero",
    });
    await add("0002_broken", "-- Corrected.\nCREATE TABLE half (id int);\n");
    expect(await run()).toEqual(["0002_broken"]);
  });

  it("keeps nothing of a migration whose connection is lost", async () => {
    await add(
      "0002_lost",
      "-- Lost.\nCREATE TABLE half (id int);\nSELECT pg_terminate_backend(pg_backend_pid());\n",
    );
    await expect(run()).rejects.toMatchObject({ code: "database_unsafe" });
    await add("0002_lost", "-- Not lost.\nCREATE TABLE half (id int);\n");
    expect(await run()).toEqual(["0002_lost"]);
  });

  it("leaves a migration that failed with Prisma to a person", async () => {
    await add("0002_broken", "-- Broken.\nSELECT 1 / 0;\n");
    await expect(deployWithPrisma(database.url, await readMigrations(root))).rejects.toThrow();
    await expect(run()).rejects.toMatchObject({ code: "database_unsafe", hint: /--rolled-back 0002_broken/ });
  });

  it("says how to carry over a database from before 0.1.0", async () => {
    await add("0002_rollup_grains", "-- As it was.\nSELECT 1;\n");
    await deployWithPrisma(database.url, await readMigrations(root));
    await expect(migrate({ url: database.url, log })).rejects.toMatchObject({
      code: "database_unsafe",
      message: /from before 0\.1\.0/,
      hint: /plimsoll backup .* plimsoll restore /,
    });
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
