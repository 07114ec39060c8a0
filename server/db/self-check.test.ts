import { pino } from "pino";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { emptyDatabase } from "../testing/database.ts";
import { hasPgbouncer, startPgbouncer } from "../testing/pgbouncer.ts";
import { judge, selfCheck } from "./self-check.ts";

const log = pino({ level: "silent" });
const safe = { fsync: "on", synchronousCommit: "on", fullPageWrites: "on", version: 180_004 };

describe("judge", () => {
  it.each([
    ["fsync", { fsync: "off" }],
    ["synchronous_commit", { synchronousCommit: "off" }],
    ["full_page_writes", { fullPageWrites: "off" }],
  ])("finds %s off", (name, change) => {
    expect(judge({ ...safe, ...change }).wrong).toEqual([`${name} is off`]);
  });

  it("accepts every synchronous_commit that waits for the local disk", () => {
    for (const synchronousCommit of ["on", "local", "remote_write", "remote_apply"]) {
      expect(judge({ ...safe, synchronousCommit }).wrong).toEqual([]);
    }
  });

  it("refuses a version that is too old", () => {
    expect(judge({ ...safe, version: 140_011 }).fatal).toContain("14");
    expect(judge({ ...safe, version: 150_000 }).fatal).toBeUndefined();
  });
});

describe("selfCheck", () => {
  let database: Awaited<ReturnType<typeof emptyDatabase>>;
  beforeAll(async () => {
    database = await emptyDatabase();
  });
  afterAll(() => database.close());

  it("passes the embedded database", async () => {
    expect(await selfCheck({ url: database.url, allowUnsafe: false, log })).toMatchObject({ fsync: "on" });
  });

  it("refuses a database that can lose commits, unless DATABASE_ALLOW_UNSAFE is set", async () => {
    const url = `${database.url}${database.url.includes("?") ? "&" : "?"}options=-c%20synchronous_commit%3Doff`;
    await expect(selfCheck({ url, allowUnsafe: false, log })).rejects.toMatchObject({
      code: "database_unsafe",
      message: /synchronous_commit is off/,
      hint: /DATABASE_ALLOW_UNSAFE/,
    });
    await expect(selfCheck({ url, allowUnsafe: true, log })).resolves.toBeDefined();
  });

  it.each([
    ["a host that is down", "postgresql://me:hunter2@127.0.0.1:1/x", /Nothing answers at 127.0.0.1:1/],
    ["a host that does not exist", "postgresql://me:hunter2@no-such-host.invalid/x", /cannot be found/],
  ])("explains %s without repeating the password", async (_, url, message) => {
    const error = await selfCheck({ url, allowUnsafe: false, log }).catch((e) => e);
    expect(error).toMatchObject({ code: "database_unreachable", message, hint: /DATABASE_URL/ });
    expect(error.message + error.hint).not.toContain("hunter2");
  });

  it.skipIf(!hasPgbouncer)("refuses a pooler that gives connections no session of their own", async () => {
    const poolings: Record<string, string>[] = [
      { pool_mode: "transaction" },
      { pool_mode: "statement" },
      { pool_mode: "transaction", server_round_robin: "1" },
      { pool_mode: "session", default_pool_size: "1" },
    ];
    // At once: each takes the time in which a notification could arrive.
    await Promise.all(
      poolings.map(async (pooling) => {
        const pooler = await startPgbouncer(database.url, pooling);
        const checked = selfCheck({ url: pooler.url, allowUnsafe: false, log }).finally(() => pooler.stop());
        await expect(checked, JSON.stringify(pooling)).rejects.toMatchObject({
          code: "database_unsafe",
          message: /does not give each connection a session of its own/,
        });
      }),
    );
  });

  it("explains a missing database and a wrong password", async () => {
    const missing = new URL(database.url);
    missing.pathname = "/nowhere";
    await expect(selfCheck({ url: missing.href, allowUnsafe: false, log })).rejects.toMatchObject({
      message: /The database nowhere does not exist/,
      hint: /CREATE DATABASE/,
    });
    const wrong = new URL(database.url);
    wrong.password = "wrong";
    await expect(selfCheck({ url: wrong.href, allowUnsafe: false, log })).rejects.toMatchObject({
      message: /refuses the user/,
    });
  });
});
