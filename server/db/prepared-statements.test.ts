import { chmod, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { pino } from "pino";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { openDatabase, type PrismaClient } from "./client.ts";
import { type EmbeddedDatabase, startEmbedded } from "./postgres/embedded.ts";
import { layoutOf } from "./postgres/layout.ts";
import { statementNames } from "./prepared-statements.ts";
import { openWriters, type Writers } from "./sql.ts";

const log = pino({ level: "silent" });

let home: string;
let database: EmbeddedDatabase;
let admin: pg.Client;
let reads: PrismaClient;
let writers: Writers;

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), "plimsoll-prepared-"));
  await chmod(home, 0o711);
  database = await startEmbedded({ home, log });
  const url = new URL(database.adminUrl);
  url.pathname = "/plimsoll";
  admin = new pg.Client({ connectionString: url.href });
  await admin.connect();
});
afterAll(async () => {
  await admin.end();
  await database.stop();
  await rm(home, { recursive: true, force: true });
});

beforeEach(async () => {
  await admin.query("CREATE TABLE notes (id int PRIMARY KEY, text text); GRANT ALL ON notes TO plimsoll");
  reads = openDatabase({ url: database.url, poolSize: 1, log });
  writers = openWriters({ url: database.url, size: 1, log });
});
afterEach(async () => {
  await reads.$disconnect();
  await writers.end();
  await admin.query("DROP TABLE notes");
});

let added = 0;
const read = () =>
  reads.$queryRawUnsafe<{ id: number }[]>("SELECT * FROM notes WHERE id > $1 ORDER BY id", 0);
const write = () =>
  writers.transaction(async (sql) => {
    added += 1;
    sql.send("INSERT INTO notes (id, text) VALUES ($1, $2)", added, "a");
    return sql.query<{ id: number }>("SELECT * FROM notes WHERE id = $1", added);
  });

async function expectWorking(): Promise<void> {
  const written = await write();
  expect(written).toHaveLength(1);
  expect((await read()).at(-1)).toMatchObject({ id: written[0]!.id });
}

/** What PostgreSQL logs while `work` runs. */
async function logged(work: () => Promise<unknown>): Promise<string[]> {
  const path = layoutOf(home).log;
  const before = (await readFile(path, "utf8")).length;
  await work();
  return (await readFile(path, "utf8")).slice(before).split("\n").filter(Boolean);
}

const killBackends = () =>
  admin.query(
    "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name IN ('plimsoll reads', 'plimsoll writer')",
  );

describe("prepared statements", () => {
  it("survive the death of their connections, and PostgreSQL logs nothing but the deaths", async () => {
    await expectWorking();
    const lines = await logged(async () => {
      for (let round = 0; round < 5; round++) {
        await killBackends();
        await expectWorking();
      }
    });
    expect(
      lines.filter((line) => !line.includes("terminating connection due to administrator command")),
    ).toEqual([]);
    expect(lines.length).toBeGreaterThanOrEqual(5);
  });

  it("survive a schema change: every statement succeeds, and each connection logs one error", async () => {
    await expectWorking();
    await admin.query("ALTER TABLE notes ADD COLUMN extra int");
    const lines = await logged(async () => {
      for (let round = 0; round < 3; round++) await expectWorking();
    });
    expect(lines.map((line) => line.replace(/^.*\] /, ""))).toEqual([
      "ERROR:  cached plan must not change result type",
      "ERROR:  cached plan must not change result type",
    ]);
  });

  it("survive a session that lost them, as behind a pooler", async () => {
    await expectWorking();
    for (let round = 0; round < 5; round++) {
      await writers.transaction((sql) => sql.execute("DEALLOCATE ALL"));
      await reads.$executeRawUnsafe("DEALLOCATE ALL");
      await expectWorking();
    }
  });

  it("survive a session that has one of the same name, as behind a pooler", async () => {
    const nameOf = statementNames();
    const text = "SELECT id FROM notes WHERE id = $1";
    await writers.transaction((sql) => sql.execute(`PREPARE "${nameOf(text)}" (int) AS ${text}`));
    for (let round = 0; round < 3; round++) {
      await expect(writers.transaction((sql) => sql.query(text, 1))).resolves.toEqual([]);
    }
  });
});

describe("statementNames", () => {
  it("gives one text one name, in every process", () => {
    expect(statementNames()("SELECT 1")).toBe(statementNames()("SELECT 1"));
    expect(statementNames()("SELECT 1")).not.toBe(statementNames()("SELECT 2"));
    expect(statementNames()("SELECT 1")).toMatch(/^p_[\w-]{16}$/);
  });

  it("names no more than the limit", () => {
    const nameOf = statementNames(1);
    expect([nameOf("SELECT 1"), nameOf("SELECT 2"), nameOf("SELECT 1")]).toEqual([
      expect.stringMatching(/^p_/),
      "",
      nameOf("SELECT 1"),
    ]);
  });
});
