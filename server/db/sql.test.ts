import { pino } from "pino";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type TestDatabase, testDatabase } from "../testing/database.ts";
import { openWriters, type WriterSql, type Writers } from "./sql.ts";

let database: TestDatabase;
let writers: Writers;

beforeAll(async () => {
  database = await testDatabase();
  writers = openWriters({ url: database.url, size: 4, log: pino({ level: "silent" }) });
  await database.prisma.$executeRawUnsafe("CREATE TABLE numbers (n int CHECK (n <> 666))");
});
afterAll(async () => {
  await writers.end();
  await database.close();
});

const insert = (sql: WriterSql, ...numbers: number[]) =>
  sql.send("INSERT INTO numbers SELECT n FROM unnest($1::int[]) AS r(n)", numbers);

describe("a transaction of a writer", () => {
  it.each<[string, (sql: WriterSql) => Promise<unknown>]>([
    ["the first statement", async (sql) => insert(sql, 666)],
    ["a statement that is sent before others", async (sql) => [1, 666, 2, 3].map((n) => insert(sql, n))],
    [
      "a statement after an awaited one",
      async (sql) => {
        await sql.execute("UPDATE numbers SET n = 1 WHERE n = $1", 5);
        insert(sql, 1);
        insert(sql, 2, 666);
        insert(sql, 3);
      },
    ],
    [
      "a statement before an awaited one",
      async (sql) => {
        insert(sql, 1, 666);
        await sql.execute("UPDATE numbers SET n = 1 WHERE n = $1", 5);
      },
    ],
  ])("never reports success if it failed in %s", async (_, run) => {
    for (let attempt = 0; attempt < 100; attempt++) {
      await expect(writers.transaction(run)).rejects.toMatchObject({ code: "23514" });
    }
    expect(await writers.query("SELECT n FROM numbers")).toEqual([]);
  });

  it("stores everything when it succeeds", async () => {
    await writers.transaction(async (sql) => [1, 2, 3].map((n) => insert(sql, n)));
    expect(await writers.query("DELETE FROM numbers RETURNING n")).toHaveLength(3);
  });
});
