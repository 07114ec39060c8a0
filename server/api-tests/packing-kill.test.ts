import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type pg from "pg";
import { pino } from "pino";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openDatabase } from "../db/client.ts";
import { migrate, readMigrations } from "../db/migrations/migrate.ts";
import { TURN_COLUMNS } from "../db/migrations/pack-turns.ts";
import { defineTable } from "../db/tables/table.ts";
import { turnBlocks, unpackBlock } from "../db/tables/turn-blocks.ts";
import { projectRoot } from "../root.ts";
import { type BackendWait, connectTo, waitingBackends } from "../testing/backends.ts";
import { emptyDatabase } from "../testing/database.ts";
import { dumpTables } from "../testing/dump.ts";
import {
  makeHome,
  removeHome,
  type ServerProcess,
  spawnTestServer,
  startTestServer,
  type TestServer,
} from "../testing/server.ts";
import { until } from "../testing/until.ts";
import { START, sendAndWait, type TurnInput } from "./support.ts";

const log = pino({ level: "silent" });
const AGENTS = 14;
/** Turns of each agent, so that pages end in the middle of one. All agents together fill three pages and a part. */
const TURNS = 1_300;
/** Indexes of the agents whose first block the server is killed at: in the second page, and in the third. */
const STOPS = [5, 9] as const;

/** Turns as an older version stored them. */
const oldTurns = defineTable("turns", ["agent", "key"], TURN_COLUMNS);

const cleanUps: (() => Promise<unknown>)[] = [];
let database: Awaited<ReturnType<typeof emptyDatabase>>;
let client: pg.Client;

beforeEach(async () => {
  database = await emptyDatabase();
  client = await connectTo(database.url);
});
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
  await client.end();
  await database.close();
});

const turnsOf = (agent: number): TurnInput[] =>
  Array.from({ length: TURNS }, (_, n) => ({
    id: `t${n}`,
    type: "turn",
    at: START + n * 1_000 + agent,
    harness: "phantom@packing",
    session: `s${agent % 5}`,
    agent: `agent-${agent}`,
    model: "claude-sonnet-4-5",
    usage: { input_tokens: 1_000 * ((n * 7 + agent) % 45), output_tokens: 10 },
  }));

/** Fills the database with what an older version, which stored a row a turn, would hold of some events. */
async function fillAsBefore(events: readonly TurnInput[][]): Promise<void> {
  const root = await mkdtemp(join(tmpdir(), "plimsoll-migrations-"));
  cleanUps.push(() => rm(root, { recursive: true }));
  await cp(join(projectRoot(), "prisma"), join(root, "prisma"), { recursive: true });
  for (const { name } of await readMigrations()) {
    if (name >= "0011") await rm(join(root, "prisma", "migrations", name), { recursive: true });
  }
  await migrate({ url: database.url, log, root });

  const present = await emptyDatabase();
  cleanUps.push(() => present.close());
  const server = await startTestServer({ databaseUrl: present.url });
  for (const some of events)
    expect((await sendAndWait(server, some)).body).toMatchObject({ accepted: some.length, duplicates: 0 });
  expect(await server.stop()).toBe(0);
  await copyRows(present.url);
}

/** Copies every row of a database of this version but its leases, and unpacks its turns. */
async function copyRows(from: string): Promise<void> {
  const source = await connectTo(from);
  cleanUps.push(() => source.end());
  const { rows: tables } = await client.query<{ name: string }>(
    `SELECT tablename AS name FROM pg_tables
     WHERE schemaname = 'public' AND tablename NOT IN ('turns', 'projectors', 'alert_evaluators', '_prisma_migrations')`,
  );
  await client.query("SET session_replication_role = replica");
  for (const { name } of tables) {
    const { rows } = await source.query(`SELECT COALESCE(json_agg(t), '[]')::text AS rows FROM ${name} t`);
    await client.query(`INSERT INTO ${name} SELECT * FROM json_populate_recordset(NULL::${name}, $1)`, [
      rows[0].rows,
    ]);
  }
  await client.query("RESET session_replication_role");
  const { rows: blocks } = await source.query(`SELECT ${turnBlocks.select("t")} FROM turn_blocks t`);
  const turns = blocks.flatMap((row) => unpackBlock(turnBlocks.parse(row)).rows);
  for (let at = 0; at < turns.length; at += 5_000) {
    const { text, values } = oldTurns.insert(1, turns.slice(at, at + 5_000));
    await client.query(text, values as unknown[]);
  }
  expected = await dump(from);
  // The migration admits the names that an older version told apart, whatever the limit.
  expected.rollup_names = expected.rollup_names!.map((row) => ({ ...(row as object), before_limit: true }));
}

let expected: Record<string, unknown[]>;

async function dump(url: string): Promise<Record<string, unknown[]>> {
  const prisma = openDatabase({ url, poolSize: 2, log });
  try {
    return await dumpTables(prisma);
  } finally {
    await prisma.$disconnect();
  }
}

/** Starts a server that packs, without waiting until it listens. */
async function startPacking(): Promise<ServerProcess> {
  const home = await makeHome();
  cleanUps.push(() => removeHome(home));
  const server = await spawnTestServer(home, { DATABASE_URL: database.url });
  cleanUps.push(async () => {
    server.kill("SIGKILL");
    await server.exited;
  });
  return server;
}

async function kill(server: ServerProcess): Promise<void> {
  server.kill("SIGKILL");
  await server.exited;
}

/** Keeps the server from inserting the block that begins with an agent's first turn. */
async function holdBlock(agentIndex: number): Promise<{ release(): Promise<void> }> {
  const holder = await connectTo(database.url);
  await holder.query("BEGIN");
  await holder.query(
    `INSERT INTO turn_blocks (project_id, agent, first_at, first_key, last_at, turns, keys, data)
     SELECT project_id, agent, at, key, at, 1, '', '' FROM turns_to_pack
     WHERE agent = (SELECT DISTINCT agent FROM turns_to_pack ORDER BY agent OFFSET $1 LIMIT 1)
     ORDER BY at, key LIMIT 1`,
    [agentIndex],
  );
  return { release: () => holder.end() };
}

const packed = async () =>
  Number((await client.query("SELECT COALESCE(sum(turns), 0) AS turns FROM turn_blocks")).rows[0].turns);

const INSERT = { type: "Lock", event: "transactionid", statement: "INSERT INTO turn_blocks" };
const MIGRATION_LOCK = { type: "Lock", event: "advisory", statement: "pg_advisory_lock" };

/** Resolves with the process id of the backend that waits so. */
async function waits(wait: BackendWait): Promise<number[]> {
  let found: number[] = [];
  await until(async () => {
    found = await waitingBackends(client, wait);
    return found.length === 1;
  });
  return found;
}

describe("a server that packs the turns of an older version", () => {
  it("completes the work of two servers that were killed in the middle of a page", async () => {
    const events = Array.from({ length: AGENTS }, (_, agent) => turnsOf(agent));
    const total = AGENTS * TURNS;
    await fillAsBefore([events.slice(0, 7).flat(), events.slice(7).flat()]);
    // The migration itself, so that the test can hold a block before the server packs it.
    const stopper = new AbortController();
    const stopping = pino({}, { write: (line) => line.includes("database migrated") && stopper.abort() });
    const migrating = migrate({ url: database.url, log: stopping, signal: stopper.signal });
    await expect(migrating).rejects.toMatchObject({ code: "stopped" });

    const inSecondPage = await holdBlock(STOPS[0]);
    const first = await startPacking();
    const [lost] = await waits(INSERT);
    await kill(first);
    const afterFirst = await packed();
    expect(afterFirst).toBeGreaterThan(0);

    // PostgreSQL still runs the statement of the server that is gone, and the next server waits for its end.
    const second = await startPacking();
    await waits(MIGRATION_LOCK);
    const inThirdPage = await holdBlock(STOPS[1]);
    await client.query("SELECT pg_terminate_backend($1)", [lost]);
    await waits(INSERT);
    expect(await packed(), "a page whose statement was ended").toBe(afterFirst);
    await inSecondPage.release();
    await until(async () => (await packed()) > afterFirst);
    await waits(INSERT);
    await kill(second);
    const afterSecond = await packed();

    const starting = startTestServer({ databaseUrl: database.url });
    starting.catch(() => {});
    await waits(MIGRATION_LOCK);
    await inThirdPage.release();
    await until(async () => (await packed()) > afterSecond);
    const server: TestServer = await starting;
    cleanUps.push(() => server.stop());
    const { rows } = await client.query("SELECT to_regclass('turns_to_pack') AS left");
    expect(rows).toEqual([{ left: null }]);
    expect(await packed()).toBe(total);
    expect(await dump(database.url)).toEqual(expected);
    await server.expectHealthy();
    // The turns are known, and the server goes on with their agents.
    const again = events.map((some, agent) => [
      some[agent]!,
      { ...some.at(-1)!, id: "late", at: START + 100_500 + agent },
    ]);
    expect((await sendAndWait(server, again.flat())).body).toMatchObject({
      accepted: AGENTS,
      duplicates: AGENTS,
    });
    await server.expectHealthy();
  });
});
