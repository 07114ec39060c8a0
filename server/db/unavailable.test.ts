import pg from "pg";
import { pino } from "pino";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { emptyDatabase } from "../testing/database.ts";
import { type SilentProxy, silentProxy } from "../testing/silent-proxy.ts";
import { until } from "../testing/until.ts";
import { openDatabase } from "./client.ts";
import { type ConnectionLimits, connectionOptions } from "./connections.ts";
import { openWriters } from "./sql.ts";
import {
  databaseUnavailable,
  isConflict,
  isUnavailable,
  reasonInWords,
  type UnavailableReason,
  unavailableReason,
} from "./unavailable.ts";

const log = pino({ level: "silent" });
const failure = (facts: object, message = JSON.stringify(facts)) => Object.assign(new Error(message), facts);

describe("unavailableReason", () => {
  it.each<[reason: UnavailableReason | undefined, error: unknown]>([
    ["connection", failure({ code: "P2010", meta: { code: "57P01" } })],
    ["connection", failure({ cause: failure({ code: "EPIPE" }) })],
    ["connection", new Error("write EPIPE")],
    [
      "connection",
      new Error("connect ENOENT /somewhere/.s.PGSQL.5432", { cause: failure({ code: "ENOENT" }) }),
    ],
    ["connection", new Error("Client has encountered a connection error and is not queryable")],
    ["connection", new Error("Connection terminated unexpectedly")],
    ["connection", new Error("Connection terminated due to connection timeout")],
    ["connection", new AggregateError([failure({ code: "ECONNREFUSED" })], "")],
    ["connection", failure({ code: "08006" })],
    ["connection", failure({ code: "XX000" }, "failure on connection marked as essential: 10.0.0.2:5432")],
    ["starting", failure({ code: "57P03" })],
    ["too_many_connections", failure({ code: "53300" })],
    ["pool_timeout", failure({ code: "P2024" })],
    ["pool_timeout", new Error("timeout exceeded when trying to connect")],
    ["no_answer", new Error("Query read timeout")],
    ["timeout", failure({ code: "57014" })],
    ["timeout", failure({ code: "25P03" })],
    ["lock_timeout", failure({ code: "55P03" })],
    ["disk_full", failure({ code: "53100" })],
    ["disk_full", failure({ code: "ENOSPC" })],
    ["disk_full", failure({ code: "XX000" }, 'could not write to file "x": Disk quota exceeded')],
    ["read_only", failure({ code: "25006" })],
    ["out_of_memory", failure({ code: "53200" })],
    ["login_refused", failure({ code: "28P01" })],
    ["conflict", failure({ code: "P2010", meta: { code: "40P01" } })],
    ["conflict", failure({ code: "P2034" })],
    ["stale_statement", failure({ code: "26000" })],
    ["stale_statement", failure({ code: "0A000" }, "cached plan must not change result type")],
    [undefined, failure({ code: "0A000" }, "this is not supported")],
    [undefined, failure({ code: "P2010", meta: { code: "22P02" } })],
    [undefined, failure({ code: "23505" })],
    [undefined, failure({ code: "22P02" }, 'invalid input syntax: "No space left on device"')],
    [
      "pool_timeout",
      failure({ code: "P2028" }, "Transaction API error: Unable to start a transaction in the given time."),
    ],
    [
      "timeout",
      failure({ code: "P2028" }, "Transaction API error: Transaction already closed: it timed out."),
    ],
    [undefined, failure({ code: "ENOENT" }, "ENOENT: no such file or directory, open 'x'")],
    [undefined, new TypeError("x is undefined")],
    [undefined, "text"],
    [undefined, null],
  ])("is %s for %s", (reason, error) => {
    expect(unavailableReason(error)).toBe(reason);
    expect(isUnavailable(error)).toBe(reason !== undefined);
    expect(isConflict(error)).toBe(reason === "conflict");
  });
});

describe("databaseUnavailable", () => {
  it.each<[code: string, error: unknown, words: RegExp]>([
    ["disk_full", failure({ code: "53100" }), /^The disk is full/],
    ["database_unreachable", new Error("Query read timeout"), /does not answer/],
    ["overloaded", failure({ code: "55P03" }), /another transaction/],
    ["overloaded", failure({ code: "53300" }), /no connection left/],
    ["database_unreachable", failure({ code: "25006" }), /read-only/],
    ["database_unreachable", failure({ code: "ECONNREFUSED" }), /cannot be reached/],
    ["database_unreachable", undefined, /cannot be reached/],
  ])("is %s with status 503 and a time to wait for %s", (code, cause, words) => {
    const error = databaseUnavailable(cause);
    expect(error).toMatchObject({ code, status: 503, message: words });
    expect(error.details).toEqual({ retry_after_seconds: expect.any(Number) });
  });

  it("does not repeat what the database said", () => {
    expect(databaseUnavailable(failure({ code: "53100" }, "secret")).message).not.toContain("secret");
  });
});

describe("errors that PostgreSQL and the drivers really throw", () => {
  let url: string;
  let close: () => Promise<void>;
  beforeAll(async () => {
    ({ url, close } = await emptyDatabase());
    await run("CREATE TABLE held AS SELECT 1 AS id");
  });
  afterAll(() => close());

  async function run(sql: string): Promise<void> {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    await client.query(sql).finally(() => client.end());
  }

  type Ask = (sql: string, limits?: Partial<ConnectionLimits>) => Promise<unknown>;

  const asks: [driver: string, ask: Ask][] = [
    [
      "the typed client",
      async (sql) => {
        const prisma = openDatabase({ url, poolSize: 1, log });
        return prisma
          .$transaction([
            prisma.$executeRawUnsafe("SET statement_timeout = 200"),
            prisma.$executeRawUnsafe("SET lock_timeout = 100"),
            prisma.$executeRawUnsafe(sql),
          ])
          .finally(() => prisma.$disconnect());
      },
    ],
    [
      "the writers",
      async (sql) => {
        const writers = openWriters({ url, size: 1, log, limits: { statement: 200, lock: 100 } });
        return writers.transaction((tx) => tx.execute(sql)).finally(() => writers.end());
      },
    ],
  ];

  describe.each(asks)("by %s", (_, ask) => {
    it.each<[what: string, sql: string, reason: UnavailableReason | undefined]>([
      ["a statement that takes too long", "SELECT pg_sleep(5)", "timeout"],
      ["a row that is locked", "UPDATE held SET id = 2", "lock_timeout"],
      ...(
        [
          ["40P01", "conflict"],
          ["40001", "conflict"],
          ["53100", "disk_full"],
          ["53200", "out_of_memory"],
          ["53300", "too_many_connections"],
          ["57P01", "connection"],
          ["25006", "read_only"],
          ["25P03", "timeout"],
          ["22P02", undefined],
          ["23505", undefined],
        ] as const
      ).map(
        ([state, reason]) =>
          [state, `DO $$ BEGIN RAISE EXCEPTION 'boo' USING ERRCODE = '${state}'; END $$`, reason] as [
            string,
            string,
            UnavailableReason | undefined,
          ],
      ),
    ])("%s", async (_what, sql, reason) => {
      const holder = new pg.Client({ connectionString: url });
      await holder.connect();
      await holder.query("BEGIN; SELECT 1 FROM held FOR UPDATE");
      const error = await ask(sql).catch((e: unknown) => e);
      await holder.end();
      expect(error).toBeInstanceOf(Error);
      expect(unavailableReason(error)).toBe(reason);
    });

    it("a database that is read-only", async () => {
      const name = new URL(url).pathname.slice(1);
      await run(`ALTER DATABASE ${name} SET default_transaction_read_only = on`);
      const error = await ask("UPDATE held SET id = 3").catch((e: unknown) => e);
      await run(`BEGIN READ WRITE; ALTER DATABASE ${name} RESET default_transaction_read_only; COMMIT`);
      expect(unavailableReason(error)).toBe("read_only");
    });
  });

  it("a pool whose connections are all busy", async () => {
    const writers = openWriters({ url, size: 1, log, limits: { connect: 200 } });
    // A busy machine may take longer than that to open the connection.
    await until(() =>
      writers.query("SELECT 1").then(
        () => true,
        () => false,
      ),
    );
    let end = () => {};
    const open = new Promise<void>((resolve) => {
      end = resolve;
    });
    const busy = writers.transaction(() => open);
    const error = await writers.transaction((sql) => sql.query("SELECT 1")).catch((e: unknown) => e);
    expect(unavailableReason(error)).toBe("pool_timeout");
    end();
    await busy;
    await writers.end();
  });

  describe("by a server that falls silent", () => {
    let proxy: SilentProxy;
    beforeAll(async () => {
      proxy = await silentProxy(url);
    });
    afterAll(() => proxy.stop());

    it("inside a connection", async () => {
      proxy.resume();
      const writers = openWriters({ url: proxy.url, size: 1, log, limits: { answer: 300 } });
      await writers.transaction((sql) => sql.query("SELECT 1"));
      proxy.silence();
      const error = await writers.transaction((sql) => sql.query("SELECT 1")).catch((e: unknown) => e);
      expect(unavailableReason(error)).toBe("no_answer");
      proxy.resume();
      await expect(writers.transaction((sql) => sql.query("SELECT 1 AS one"))).resolves.toEqual([{ one: 1 }]);
      await writers.end();
    });

    it("before a connection is there", async () => {
      proxy.silence();
      const options = connectionOptions(proxy.url, "reads", { connect: 300 });
      const error = await new pg.Client(options).connect().catch((e: unknown) => e);
      expect(unavailableReason(error)).toBe("connection");
    });
  });
});

it("every reason has words of its own", () => {
  const reasons: UnavailableReason[] = ["disk_full", "read_only", "timeout", "lock_timeout", "connection"];
  expect(new Set(reasons.map(reasonInWords)).size).toBe(reasons.length);
});
