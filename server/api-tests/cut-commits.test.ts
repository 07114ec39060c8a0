import { setTimeout as sleep } from "node:timers/promises";
import type { IngestAnswer } from "@plimsoll/protocol/events";
import type pg from "pg";
import { pino } from "pino";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openDatabase, type PrismaClient } from "../db/client.ts";
import { type EmbeddedDatabase, startEmbedded } from "../db/postgres/embedded.ts";
import { eventKey } from "../db/tables/identity.ts";
import { connectTo, waitingBackends } from "../testing/backends.ts";
import { makeHome, removeHome, startTestServer, type TestServer } from "../testing/server.ts";
import { storedTurns } from "../testing/turns.ts";
import { until } from "../testing/until.ts";
import { caughtUp, countsOf, START, sendAndWait, type TurnInput, turn, unique } from "./support.ts";

const SENDERS = 6;
/** Connections that are cut while a batch is under way. */
const CUTS = 20;
/** Commits that are cut at a certain point of their way. */
const ROUNDS = 3;

let home: string;
let server: TestServer;
let embedded: EmbeddedDatabase;
let admin: pg.Client;
let prisma: PrismaClient;

beforeAll(async () => {
  home = await makeHome();
  server = await startTestServer({ home, embedded: true });
  // Its own PostgreSQL, because the tests change how every commit in it ends.
  embedded = await startEmbedded({ home, log: pino({ level: "silent" }) });
  const url = new URL(embedded.adminUrl);
  url.pathname = new URL(embedded.url).pathname;
  admin = await connectTo(url.href);
  // Temporary files may be in memory, where a commit takes too little time to be cut.
  await admin.query("ALTER SYSTEM SET commit_delay = 10000");
  await admin.query("ALTER SYSTEM SET commit_siblings = 0");
  await admin.query("SELECT pg_reload_conf()");
  prisma = openDatabase({ url: embedded.url, poolSize: 1, log: pino({ level: "silent" }) });
});
afterAll(async () => {
  await admin?.end();
  await prisma?.$disconnect();
  await embedded?.stop();
  await server?.stop();
  await removeHome(home);
});

const acknowledged: TurnInput[] = [];

let made = 0;
/** Turns of a session, close together, so that none is ahead of the clock. */
const turns = (session: string, count: number) =>
  Array.from({ length: count }, (_, n) => turn(session, 1_000 * n, { at: START + 10 * ++made }));

/** Sends events again until they are acknowledged. Returns how often they were refused. */
async function sendUntilAcknowledged(events: TurnInput[]): Promise<number> {
  for (let refusals = 0; ; refusals++) {
    const { status, body, text } = await server.send(events);
    if (status === 200) {
      expect(body as IngestAnswer).toEqual({ accepted: events.length, rejected: [] });
      acknowledged.push(...events);
      return refusals;
    }
    expect(status, text).toBe(503);
    await sleep(10);
  }
}

/** Expects that everything acknowledged is stored once, and nothing else: a refused event was sent again, too. */
async function expectAllStoredOnce(): Promise<void> {
  await caughtUp(server);
  const keys = (await storedTurns(prisma)).map(({ key }) => key);
  expect(keys.sort()).toEqual(acknowledged.map(({ id }) => eventKey(id)).sort());
  expect((await countsOf(server)).turn).toBe(acknowledged.length);
  await server.expectHealthy();
}

const CUT = `
SELECT pid, pg_terminate_backend(pid) FROM pg_stat_activity
WHERE datname = current_database() AND application_name = 'plimsoll writer' AND state = 'active'
  AND position('INSERT INTO journal' IN query) > 0`;

/** Cuts commits that wait for a standby: they are stored already. */
const CUT_HELD = `${CUT} AND wait_event = 'SyncRep'`;
const WAITING_FOR_LOCK = { type: "Lock", event: "relation", statement: "INSERT INTO journal" };

/** While held, a commit is stored and its answer waits for a standby that does not exist. */
async function holdAnswers(hold: boolean): Promise<void> {
  await admin.query(
    hold
      ? "ALTER SYSTEM SET synchronous_standby_names = 'nobody'"
      : "ALTER SYSTEM RESET synchronous_standby_names",
  );
  await admin.query("SELECT pg_reload_conf()");
  const expected = hold ? "nobody" : "";
  await until(
    async () =>
      (await admin.query("SHOW synchronous_standby_names")).rows[0].synchronous_standby_names === expected,
  );
}

/**
 * Sends events until a commit of them was cut while it was held. The server's connection may hear of the setting later than
 * the test's, and the server commits its counts of refusals, too.
 */
async function sendAndCutHeld(): Promise<TurnInput[]> {
  for (;;) {
    const events = turns(unique("session"), 10);
    let status: number | undefined;
    const answer = server.send(events).then((answered) => {
      ({ status } = answered);
    });
    await until(async () => {
      await admin.query(CUT_HELD);
      return status !== undefined;
    });
    await answer;
    acknowledged.push(...events);
    if (status === 503) return events;
    expect(status).toBe(200);
  }
}

describe("a journal commit whose connection is cut", () => {
  it("leaves every acknowledged event stored once, however often senders had to try", async () => {
    let sending = true;
    let refusals = 0;
    const sender = async () => {
      const session = unique("session");
      while (sending) refusals += await sendUntilAcknowledged(turns(session, 5));
    };
    const senders = Promise.all(Array.from({ length: SENDERS }, sender));
    const cut = new Set<number>();
    await until(async () => {
      const { rows } = await admin.query<{ pid: number }>(CUT);
      for (const { pid } of rows) cut.add(pid);
      return cut.size >= CUTS && refusals >= CUTS;
    });
    sending = false;
    await senders;
    await expectAllStoredOnce();
  });

  it("stores nothing if it was cut before the commit", async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const events = turns(unique("session"), 10);
      const locker = await connectTo(embedded.url);
      await locker.query("BEGIN");
      await locker.query("LOCK TABLE journal IN SHARE MODE");
      const answer = server.send(events);
      await until(async () => (await waitingBackends(admin, WAITING_FOR_LOCK)).length === 1);
      await admin.query(CUT);
      const { status, text } = await answer;
      expect(status, text).toBe(503);
      await locker.end();
      await expectAllStoredOnce();
      expect((await sendAndWait(server, events)).body).toMatchObject({
        accepted: events.length,
        duplicates: 0,
      });
      acknowledged.push(...events);
    }
    await expectAllStoredOnce();
  });

  it("stores the events once if it was cut between the commit and the answer", async () => {
    for (let round = 0; round < ROUNDS; round++) {
      await holdAnswers(true);
      const events = await sendAndCutHeld();
      await holdAnswers(false);
      // The events are stored although the sender was told to try again.
      await until(async () => (await storedTurns(prisma)).length === acknowledged.length);
      expect((await sendAndWait(server, events)).body).toMatchObject({
        accepted: 0,
        duplicates: events.length,
      });
    }
    await expectAllStoredOnce();
  });
});
