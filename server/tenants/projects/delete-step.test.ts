import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Sql } from "../../db/sql.ts";
import { type TestDatabase, testDatabase } from "../../testing/database.ts";
import { sqlOfClient } from "../../testing/sql.ts";
import { deleteProjectStep, PROJECT_TABLES } from "./delete-step.ts";

let database: TestDatabase;
let doomed: number;
let kept: number;

beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.close());
beforeEach(async () => {
  const { prisma } = database;
  await prisma.project.deleteMany();
  for (const table of Object.keys(PROJECT_TABLES)) await prisma.$executeRawUnsafe(`DELETE FROM ${table}`);
  const create = (name: string, deletingAt: Date | null) =>
    prisma.project.create({ data: { name, createdAt: new Date(), deletingAt } });
  doomed = (await create("1", new Date())).id;
  kept = (await create("kept", null)).id;
});

/** Rows of every table; one where a project has only one. Made from the table's own description, so that a new table needs nothing here. */
async function addRows(projectId: number, rows = 1): Promise<void> {
  for (const table of Object.keys(PROJECT_TABLES)) {
    const columns = await database.prisma.$queryRaw<{ name: string; type: string; identity: boolean }[]>`
      SELECT column_name AS name, data_type AS type, column_default LIKE 'nextval%' AS identity
      FROM information_schema.columns
      WHERE table_schema = 'public' AND table_name = ${table} AND is_nullable = 'NO'`;
    const given = columns.filter(({ identity }) => !identity);
    const values = given.map(({ name, type }) => (name === "project_id" ? String(projectId) : SAMPLES[type]));
    expect(values, table).not.toContain(undefined);
    await database.prisma.$executeRawUnsafe(
      `INSERT INTO ${table} (${given.map(({ name }) => `"${name}"`).join(", ")})
       SELECT ${values.join(", ")} FROM generate_series(1, ${rows}) AS n ON CONFLICT DO NOTHING`,
    );
  }
}

/** A value of each type, different for each row `n` where the type has room for it. */
const SAMPLES: Record<string, string> = {
  uuid: "gen_random_uuid()",
  text: "gen_random_uuid()::text",
  bytea: "sha256(gen_random_uuid()::text::bytea)",
  integer: "n",
  bigint: "n",
  smallint: "1",
  "double precision": "n",
  boolean: "false",
  date: "DATE '2026-01-01' + n",
  "timestamp with time zone": "TIMESTAMPTZ '2026-01-01' + n * interval '1 minute'",
  json: "'{}'",
  jsonb: "'{}'",
  ARRAY: "'{}'",
};

async function countRows(projectId: number): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const table of Object.keys(PROJECT_TABLES)) {
    const [row] = await database.prisma.$queryRawUnsafe<{ count: bigint }[]>(
      `SELECT count(*) AS count FROM ${table} WHERE project_id = $1`,
      projectId,
    );
    counts[table] = Number(row?.count);
  }
  return counts;
}

const step = (projectId: number, sql?: (sql: Sql) => Sql) =>
  database.prisma.$transaction((tx) => {
    const plain = sqlOfClient(tx);
    return deleteProjectStep(sql?.(plain) ?? plain, projectId);
  });

const projectIds = async () => (await database.prisma.project.findMany()).map(({ id }) => id);

describe("a step of deleting a project", () => {
  it("knows every table with rows of a project", async () => {
    const rows = await database.prisma.$queryRaw<{ name: string }[]>`
      SELECT c.table_name AS name FROM information_schema.columns c
      JOIN information_schema.tables t USING (table_schema, table_name)
      WHERE c.table_schema = 'public' AND c.column_name = 'project_id' AND t.table_type = 'BASE TABLE'`;
    expect(Object.keys(PROJECT_TABLES).sort()).toEqual(rows.map(({ name }) => name).sort());
  });

  it("names the project for each table and deletes from one table at a time", async () => {
    await addRows(doomed);
    const seen: { text: string; values: unknown[]; rows: number }[] = [];
    const watch = (sql: Sql): Sql => ({
      query: sql.query,
      async execute(text, ...values) {
        const rows = await sql.execute(text, ...values);
        seen.push({ text, values, rows });
        return rows;
      },
    });
    while (await step(doomed, watch));
    const deletes = seen.filter(({ text }) => !text.includes("FROM projects"));
    for (const { text, values } of deletes) {
      expect(text.match(/FROM \w+ WHERE project_id = \$1/g)).toHaveLength(2);
      expect(values).toEqual([doomed]);
    }
    expect(deletes.filter(({ rows }) => rows > 0)).toHaveLength(Object.keys(PROJECT_TABLES).length);
  });

  it("leaves nothing of the project and everything of the others", async () => {
    await addRows(doomed, 3);
    await addRows(kept, 3);
    const before = await countRows(kept);
    let steps = 0;
    while (await step(doomed)) steps += 1;
    expect(steps).toBe(Object.keys(PROJECT_TABLES).length);
    expect(new Set(Object.values(await countRows(doomed)))).toEqual(new Set([0]));
    expect(await countRows(kept)).toEqual(before);
    expect(await projectIds()).toEqual([kept]);
    expect(await step(doomed)).toBe(false);
  });

  it("deletes at most 5,000 rows", async () => {
    const agent = randomUUID();
    await database.prisma.$executeRawUnsafe(
      `INSERT INTO windows (project_id, agent_id, index, first_at, last_at, turns)
       SELECT $1, $2::uuid, n, now(), now(), 1 FROM generate_series(1, 12000) n`,
      doomed,
      agent,
    );
    const left: number[] = [];
    while (await step(doomed)) left.push((await countRows(doomed)).windows!);
    expect(left).toEqual([7_000, 2_000, 0]);
  });

  it("may be repeated after a failure", async () => {
    await addRows(doomed, 2);
    await step(doomed);
    const failing = (sql: Sql): Sql => ({
      query: sql.query,
      execute: async (text, ...values) => {
        await sql.execute(text, ...values);
        throw new Error("connection lost");
      },
    });
    await expect(step(doomed, failing)).rejects.toThrow("connection lost");
    while (await step(doomed));
    expect(await projectIds()).toEqual([kept]);
  });

  it("leaves a project alone that another process is deleting", async () => {
    await addRows(doomed);
    await database.prisma.$transaction(async (tx) => {
      await tx.$queryRaw`SELECT 1 FROM projects WHERE id = ${doomed} FOR UPDATE`;
      expect(await step(doomed)).toBe(true);
      expect(new Set(Object.values(await countRows(doomed)))).toEqual(new Set([1]));
    });
  });

  it("refuses a project that is not marked as deleting", async () => {
    await addRows(kept);
    await expect(step(kept)).rejects.toThrow("not marked");
    expect(new Set(Object.values(await countRows(kept)))).toEqual(new Set([1]));
  });
});
