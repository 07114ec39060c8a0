import { type ChildProcess, spawn } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { afterAll, beforeAll, expect, it } from "vitest";
import { migratedDatabase } from "../testing/database.ts";
import { makeHome, removeHome, startTestServer, type TestServer } from "../testing/server.ts";
import { until } from "../testing/until.ts";
import { START, turn } from "./support.ts";

const KILLS = Number(process.env.PLIMSOLL_KILLS ?? 6);
const SENDERS = 8;
const AGENTS = 40;
const BATCH = 20;
/** Processes that use the processors in the second half of the run. */
const HOGS = 2;

let database: Awaited<ReturnType<typeof migratedDatabase>>;
let client: pg.Client;
const homes: string[] = [];
const servers: TestServer[] = [];
const hogs: ChildProcess[] = [];

beforeAll(async () => {
  database = await migratedDatabase();
  client = new pg.Client({ connectionString: database.url });
  await client.connect();
  for (let n = 0; n < 2; n++) {
    homes.push(await makeHome());
    servers.push(await start(n));
  }
});
afterAll(async () => {
  for (const hog of hogs) hog.kill("SIGKILL");
  await Promise.all(servers.map((server) => server.stop()));
  await client?.end();
  await database?.close();
  await Promise.all(homes.map(removeHome));
});

const start = (n: number) => startTestServer({ home: homes[n]!, databaseUrl: database.url });

async function journalRows(): Promise<number> {
  const { rows } = await client.query<{ count: number }>("SELECT count(*)::int4 AS count FROM journal");
  return rows[0]!.count;
}

async function projected(): Promise<number> {
  const { rows } = await client.query<{ turns: number }>(
    "SELECT coalesce(sum(turns), 0)::int4 AS turns FROM agents",
  );
  return rows[0]!.turns;
}

async function epoch(): Promise<number> {
  const { rows } = await client.query<{ epoch: number }>("SELECT epoch::int4 AS epoch FROM projectors");
  return rows[0]!.epoch;
}

it("two servers lose and double nothing while each is killed in turn, also on a starved machine, and then catch up", async () => {
  let acknowledged = 0;
  let kills = 0;
  const isOver = () => kills === KILLS;

  async function sender(lane: number): Promise<void> {
    for (let round = 0; !isOver(); round++) {
      const events = Array.from({ length: BATCH }, (_, n) =>
        turn(`session ${(lane * 7 + round + n) % AGENTS}`, 1_000 + n, {
          id: `${lane}/${round}/${n}`,
          at: START + (round * BATCH + n) * 50,
        }),
      );
      // Sent again to the other server until one of them has taken it.
      for (let attempt = lane + round; ; attempt++) {
        const answer = await servers[attempt % 2]!.send(events).catch(() => undefined);
        if (answer?.status === 200) break;
        if (answer !== undefined) expect(answer.status, answer.text).toBe(503);
        await sleep(50);
      }
      acknowledged += events.length;
      await sleep(60);
    }
  }

  async function killer(): Promise<void> {
    while (!isOver()) {
      // Until the events are projected again: a killed projector has been succeeded.
      const before = await projected();
      await until(async () => (await projected()) > before);
      if (kills === KILLS / 2)
        for (let hog = 0; hog < HOGS; hog++)
          hogs.push(spawn(process.execPath, ["-e", "for (;;);"], { stdio: "ignore" }));
      const n = kills % 2;
      await servers[n]!.kill9();
      servers[n] = await start(n);
      kills += 1;
    }
  }

  await Promise.all([killer(), ...Array.from({ length: SENDERS }, (_, lane) => sender(lane))]);
  // Both are healthy and nobody sends: one of them empties the journal. It may take over from a killed one.
  const before = await epoch();
  await until(async () => (await journalRows()) === 0);
  expect((await epoch()) - before).toBeLessThanOrEqual(1);
  const { rows } = await client.query<{ turns: number; aside: number }>(
    "SELECT (SELECT sum(turns) FROM agents)::int4 AS turns, (SELECT count(*) FROM rejected_events)::int4 AS aside",
  );
  expect(rows).toEqual([{ turns: acknowledged, aside: 0 }]);
  for (const hog of hogs.splice(0)) hog.kill("SIGKILL");
  for (const server of servers) await server.expectHealthy();
}, 600_000);
