import { randomUUID } from "node:crypto";
import parsePrometheusTextFormat from "parse-prometheus-text-format";
import type pg from "pg";
import { pino } from "pino";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openDatabase } from "../db/client.ts";
import { eventKey } from "../db/tables/identity.ts";
import { connectTo, waitingBackends } from "../testing/backends.ts";
import { migratedDatabase } from "../testing/database.ts";
import { sendRaw } from "../testing/raw-sender.ts";
import { startTestServer, type TestServer } from "../testing/server.ts";
import { storedTurns } from "../testing/turns.ts";
import { until } from "../testing/until.ts";
import { SHARED } from "../write/project/pace.ts";
import { caughtUp, countsOf, sendAndWait, type TurnInput, turn, unique } from "./support.ts";
import { inProject, makeProject } from "./two-projects.ts";

let database: Awaited<ReturnType<typeof migratedDatabase>>;
let server: TestServer;
let client: pg.Client;
/** A project without events: its metrics are answered at once, however far behind the others are. */
let quietProject: number;

beforeEach(async () => {
  database = await migratedDatabase();
  server = await startTestServer({ databaseUrl: database.url });
  client = await connectTo(database.url);
  quietProject = (await makeProject(server, "quiet")).id;
});
afterEach(async () => {
  await client.end();
  await server.stop();
  await database.close();
});

const turns = (count: number) => {
  const session = unique("session");
  return Array.from({ length: count }, (_, n) => turn(session, 1_000 + n));
};

async function metric(name: string): Promise<number> {
  const { text } = await server.request("/metrics", inProject(quietProject));
  const family = parsePrometheusTextFormat(text).find((one) => one.name === name);
  return Number(family?.metrics[0]?.value);
}
const heldBytes = () => metric("plimsoll_ingest_body_bytes");
const queuedEvents = () => metric("plimsoll_ingest_queue_events");

/** Expects that these events are stored once each, and no others. */
async function expectStored(...events: TurnInput[]): Promise<void> {
  const prisma = openDatabase({ url: database.url, poolSize: 1, log: pino({ level: "silent" }) });
  const keys = (await storedTurns(prisma)).map(({ key }) => key);
  await prisma.$disconnect();
  expect(keys.sort()).toEqual(events.map(({ id }) => eventKey(id)).sort());
  await server.expectHealthy();
}

const WAITING_COMMIT = { type: "Lock", event: "relation", statement: "INSERT INTO journal" };

/** Events that this process leaves to the holder of a project before it counts them as its backlog. */
const ELSEWHERE = 2 * SHARED.chunk;

/** Gives the project to a process that never projects, with so many events in its journal. */
async function holdElsewhere(
  events: number,
): Promise<{ set(events: number): Promise<void>; end(): Promise<void> }> {
  const id = randomUUID();
  await client.query(
    "UPDATE projectors SET holder = gen_random_uuid(), epoch = epoch + 1, patience_ms = 60000, contested_at = clock_timestamp() WHERE project_id = 1",
  );
  await client.query("INSERT INTO journal (project_id, id, events, body) VALUES (1, $1, $2, $3)", [
    id,
    events,
    Buffer.from(JSON.stringify({ events: [] })),
  ]);
  return {
    async set(now) {
      await client.query("UPDATE journal SET events = $2 WHERE id = $1", [id, now]);
    },
    async end() {
      await client.query("DELETE FROM journal WHERE id = $1", [id]);
      await client.query("UPDATE projectors SET holder = NULL WHERE project_id = 1");
    },
  };
}

describe("a sender that closes its socket while its request waits for room", () => {
  it("stores nothing and gives its room back", async () => {
    await until(
      async () => (await client.query("SELECT 1 FROM projectors WHERE project_id = 1")).rowCount === 1,
    );
    const held = await holdElsewhere(ELSEWHERE + SHARED.waiting);
    await until(async () => (await queuedEvents()) >= SHARED.waiting);

    const patience = performance.now() + 5_000;
    const gone = [turns(300), turns(200), turns(100)] as const;
    const senders = [await sendRaw(server, gone[0]), await sendRaw(server, gone[1])] as const;
    const half = await sendRaw(server, gone[2], { share: 0.5 });
    const waiting = senders[0].bytes + senders[1].bytes;
    await until(async () => (await heldBytes()) === waiting + half.bytes);
    const last = turns(10);
    const patient = await sendRaw(server, last);
    await until(async () => (await heldBytes()) === waiting + half.bytes + patient.bytes);

    await Promise.all([senders[0].close(), senders[1].reset(), half.close()]);
    await until(async () => (await heldBytes()) === waiting + patient.bytes);
    // There is room for one request. The two before the last one would take it if they were still counted.
    await held.set(ELSEWHERE + SHARED.waiting - 1);
    await until(async () => patient.answer().includes("\r\n\r\n"));
    expect(patient.answer()).toMatch(/^HTTP\/1.1 200 /);
    expect(performance.now(), "the senders that left were refused for their age").toBeLessThan(patience);
    expect(senders.map(({ answer }) => answer())).toEqual(["", ""]);
    await until(async () => (await heldBytes()) === 0);
    await patient.close();

    await held.end();
    await caughtUp(server);
    await expectStored(...last);
    await until(async () => (await countsOf(server)).overloaded !== undefined);
    expect(await countsOf(server)).toEqual({ turn: 10, overloaded: 500, bad_request: 1 });
  });
});

describe("a sender that closes its socket after the commit began", () => {
  it("has its events stored once, even if it sends them again", async () => {
    const before = turns(1);
    expect((await sendAndWait(server, before)).body.accepted).toBe(1);
    const locker = await connectTo(database.url);
    const [begun, second, queued] = [turns(30), turns(20), turns(10)] as const;
    try {
      await locker.query("BEGIN");
      await locker.query("LOCK TABLE journal IN SHARE MODE");
      const commits = async (count: number) =>
        until(async () => (await waitingBackends(client, WAITING_COMMIT)).length === count);
      const senders = [await sendRaw(server, begun)];
      await commits(1);
      // A second commit begins because the first one is slow, and no third one.
      senders.push(await sendRaw(server, second));
      await commits(2);
      senders.push(await sendRaw(server, queued));
      await until(async () => (await queuedEvents()) === queued.length);
      await Promise.all([senders[0]!.close(), senders[1]!.reset(), senders[2]!.close()]);
      expect(await waitingBackends(client, WAITING_COMMIT), "a commit gave up too early").toHaveLength(2);
      expect(senders.map(({ answer }) => answer())).toEqual(["", "", ""]);
    } finally {
      await locker.end();
    }
    await until(async () => (await heldBytes()) === 0);
    await caughtUp(server);
    await expectStored(...before, ...begun, ...second);

    const again = await sendAndWait(server, [...begun, ...second, ...queued]);
    expect(again.body).toMatchObject({ accepted: 10, duplicates: 50 });
    await expectStored(...before, ...begun, ...second, ...queued);
  });
});
