import pg from "pg";
import { pino } from "pino";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { waitingBackends } from "../testing/backends.ts";
import { emptyDatabase } from "../testing/database.ts";
import { until } from "../testing/until.ts";
import { openDatabase } from "./client.ts";
import { connectionOptions, type Purpose } from "./connections.ts";
import { openWriters } from "./sql.ts";

const log = pino({ level: "silent" });
let url: string;
let close: () => Promise<void>;

beforeAll(async () => {
  ({ url, close } = await emptyDatabase());
});
afterAll(() => close());

async function withClient<T>(purpose: Purpose, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const options = connectionOptions(url, purpose);
  const client = new pg.Client(options);
  client.on("error", () => {});
  await client.connect();
  await options.onConnect(client);
  return work(client).finally(() => client.end());
}

const SETTINGS = `SELECT name, setting FROM pg_settings WHERE name IN
  ('statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout', 'application_name')`;

const settingsOf = (rows: { name: string; setting: string }[]) =>
  Object.fromEntries(rows.map(({ name, setting }) => [name, setting]));

const EXPECTED = {
  reads: { statement_timeout: "15000", lock_timeout: "4000", idle_in_transaction_session_timeout: "10000" },
  control: { statement_timeout: "4000", lock_timeout: "2000", idle_in_transaction_session_timeout: "4000" },
  maintenance: {
    statement_timeout: "600000",
    lock_timeout: "4000",
    idle_in_transaction_session_timeout: "60000",
  },
  writer: { statement_timeout: "8000", lock_timeout: "4000", idle_in_transaction_session_timeout: "2000" },
  listen: { statement_timeout: "4000", lock_timeout: "2000", idle_in_transaction_session_timeout: "4000" },
};

describe("connectionOptions", () => {
  it.each(Object.keys(EXPECTED) as Purpose[])("sets every limit for %s", async (purpose) => {
    const { rows } = await withClient(purpose, (client) => client.query(SETTINGS));
    expect(settingsOf(rows)).toEqual({ ...EXPECTED[purpose], application_name: `plimsoll ${purpose}` });
  });

  it.runIf(process.platform === "linux")("lets PostgreSQL notice a client that is gone", async () => {
    const { rows } = await withClient("writer", (client) =>
      client.query("SELECT current_setting('client_connection_check_interval') AS interval"),
    );
    expect(rows).toEqual([{ interval: "2s" }]);
  });

  it("takes other limits", async () => {
    const options = connectionOptions(url, "reads", { statement: 50 });
    const client = new pg.Client(options);
    await client.connect();
    await options.onConnect(client);
    await expect(client.query("SELECT pg_sleep(5)")).rejects.toMatchObject({ code: "57014" });
    await client.end();
  });
});

describe("the pools that use it", () => {
  it.each(["reads", "control"] as const)("set the limits on a typed client for %s", async (purpose) => {
    const prisma = openDatabase({ url, poolSize: 1, log, purpose });
    const rows = await prisma.$queryRawUnsafe<{ name: string; setting: string }[]>(SETTINGS);
    expect(settingsOf(rows)).toEqual({ ...EXPECTED[purpose], application_name: `plimsoll ${purpose}` });
    await prisma.$disconnect();
  });

  it("set the limits on writers", async () => {
    const writers = openWriters({ url, size: 1, log });
    const rows = await writers.transaction((sql) => sql.query<{ name: string; setting: string }>(SETTINGS));
    expect(settingsOf(rows)).toEqual({ ...EXPECTED.writer, application_name: "plimsoll writer" });
    await writers.end();
  });

  it("let another writer go on when one falls silent inside a transaction", async () => {
    const writers = openWriters({ url, size: 2, log, limits: { idleInTransaction: 300 } });
    await writers.transaction((sql) => sql.execute("CREATE TABLE held AS SELECT 1 AS id"));
    let wake = () => {};
    const silent = writers.transaction(async (sql) => {
      await sql.execute("UPDATE held SET id = 2");
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    });
    silent.catch(() => {});
    await writers.transaction((sql) => sql.execute("UPDATE held SET id = 3"));
    wake();
    await expect(silent).rejects.toThrow();
    const [row] = await writers.transaction((sql) => sql.query<{ id: number }>("SELECT id FROM held"));
    expect(row).toEqual({ id: 3 });
    await writers.end();
  });

  it("keep control connections free while every read connection is busy", async () => {
    const reads = openDatabase({ url, poolSize: 1, log });
    const control = openDatabase({ url, poolSize: 1, log, purpose: "control" });
    const holder = new pg.Client({ connectionString: url });
    await holder.connect();
    await holder.query("SELECT pg_advisory_lock(1)");
    let isBusy = true;
    const slow = reads.$queryRaw`SELECT pg_advisory_lock(1)::text`
      .catch(() => {})
      .finally(() => {
        isBusy = false;
      });
    await until(async () => (await waitingBackends(holder, { type: "Lock", event: "advisory" })).length > 0);
    await control.$queryRaw`SELECT 1`;
    expect(isBusy).toBe(true);
    await holder.end();
    await slow;
    await Promise.all([reads.$disconnect(), control.$disconnect()]);
  });
});
