import { setTimeout as sleep } from "node:timers/promises";
import type { TurnPage } from "@plimsoll/protocol/api";
import type { IngestAnswer } from "@plimsoll/protocol/events";
import pg from "pg";
import { afterEach, describe, expect, it } from "vitest";
import { eventKey, sessionId } from "../db/tables/identity.ts";
import { turnBlocks, unpackBlock } from "../db/tables/turn-blocks.ts";
import { migratedDatabase } from "../testing/database.ts";
import { makeHome, removeHome, startTestServer, type TestServer } from "../testing/server.ts";
import { until } from "../testing/until.ts";
import { crash } from "./processes.ts";
import { caughtUp, START } from "./support.ts";

/** What has to survive: PLIMSOLL_CRASH_CYCLES and PLIMSOLL_CRASH_SEED repeat a run, longer or the same. */
const CYCLES = Number(process.env.PLIMSOLL_CRASH_CYCLES ?? 6);
const SEED = Number(process.env.PLIMSOLL_CRASH_SEED ?? Date.now() % 1_000_000);
const SENDERS = 6;
const SESSIONS = 4;
const HARNESS = "phantom@crash";

const cleanUps: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

/** Always the same numbers for one seed. */
function dice(seed: number): (sides: number) => number {
  let state = seed >>> 0;
  return (sides) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 4_294_967_296) * sides);
  };
}

/** What the senders know: an event is acknowledged once any answer said so, and may be stored from when it was sent. */
class SentEvents {
  readonly sent = new Map<string, Set<string>>();
  readonly acknowledged = new Map<string, Set<string>>();
  serial = 0;

  note(into: Map<string, Set<string>>, events: readonly { id: string; session: string }[]): void {
    for (const { id, session } of events) {
      const ids = into.get(session) ?? new Set();
      into.set(session, ids.add(id));
    }
  }
}

/** Sends small batches, and each again until it is acknowledged or the load ends, as a careful harness would. */
async function load(
  ledger: SentEvents,
  server: () => TestServer | undefined,
  roll: (sides: number) => number,
) {
  let running = true;
  const sender = async () => {
    while (running) {
      const session = `crash-${roll(SESSIONS)}`;
      const events = Array.from({ length: 1 + roll(5) }, () => {
        const n = ++ledger.serial;
        return {
          id: `t${n}`,
          type: "turn" as const,
          at: START + n,
          harness: HARNESS,
          session,
          agent: roll(3) === 0 ? "child" : "main",
          model: "claude-sonnet-4-5",
          usage: { input_tokens: roll(190_000), output_tokens: roll(900) },
        };
      });
      ledger.note(ledger.sent, events);
      for (let done = false; running && !done; ) {
        done = await attempt(server(), events);
        if (done) ledger.note(ledger.acknowledged, events);
        else await sleep(20);
      }
    }
  };
  const senders = Array.from({ length: SENDERS }, sender);
  return async () => {
    running = false;
    await Promise.all(senders);
  };
}

async function attempt(server: TestServer | undefined, events: { id: string }[]): Promise<boolean> {
  if (server === undefined) return false;
  // A dead server is no answer at all; what was sent may be stored or not.
  const answer = await server.send(events as never).catch(() => undefined);
  if (answer === undefined) return false;
  if (answer.status === 503) return false;
  expect(answer.status, answer.text).toBe(200);
  const { accepted, rejected } = answer.body as IngestAnswer;
  expect(rejected).toEqual([]);
  expect(accepted).toBe(events.length);
  return true;
}

/** A page of turns. A connection that was cut is told of with a 503 that asks to try again, so that is done. */
async function readPage(
  server: TestServer,
  query: Record<string, unknown>,
  mayBeAbsent: boolean,
): Promise<TurnPage | undefined> {
  let page: TurnPage | undefined;
  await until(async () => {
    try {
      page = await server.trpc<TurnPage>("sessions.turns", query);
      return true;
    } catch (error) {
      if (mayBeAbsent && String(error).includes("404")) return true;
      if (!String(error).includes("answered 503")) throw error;
      return false;
    }
  });
  return page;
}

/** Reads every turn through the API, page by page, and holds it against the ledger. */
async function compare(server: TestServer, ledger: SentEvents): Promise<void> {
  for (const [session, sent] of ledger.sent) {
    const id = sessionId(1, HARNESS, session);
    const stored: number[] = [];
    for (let cursor: string | null = ""; cursor !== null; ) {
      const query: Record<string, unknown> = { id, limit: 1_000, ...(cursor === "" ? {} : { cursor }) };
      const page = await readPage(server, query, !ledger.acknowledged.has(session));
      // The sender's id is kept as a hash alone; its time is as unique here.
      for (const item of page?.items ?? []) stored.push(Date.parse(item.at) - START);
      cursor = page?.next_cursor ?? null;
    }
    const ids = stored.map((n) => `t${n}`);
    expect(new Set(ids).size, `${session}: a turn is stored twice`).toBe(ids.length);
    const missing = [...(ledger.acknowledged.get(session) ?? [])].filter((one) => !ids.includes(one));
    expect(missing, `${session}: acknowledged and not stored`).toEqual([]);
    expect(
      ids.filter((one) => !sent.has(one)),
      `${session}: stored and never sent`,
    ).toEqual([]);
  }
}

type Victim = "node" | "postmaster" | "both";

async function crashCycles(options: {
  victims: readonly Victim[];
  start: () => Promise<TestServer>;
  cycles: number;
}): Promise<SentEvents> {
  const { victims, start, cycles } = options;
  const roll = dice(SEED);
  const ledger = new SentEvents();
  let server: TestServer | undefined = await start();
  cleanUps.push(async () => server?.kill9());
  const killed: Victim[] = [];
  for (let cycle = 0; cycle < cycles; cycle++) {
    const end = await load(ledger, () => server, roll);
    // A different moment of the load each time.
    const met = ledger.serial + 1 + roll(60);
    await until(() => ledger.serial >= met);
    const victim = victims[roll(victims.length)]!;
    killed.push(victim);
    const postmaster = await server.postmaster();
    const crashed = victim === "node" ? undefined : crash(postmaster!);
    if (victim === "both") await sleep(roll(30));
    if (victim !== "postmaster") {
      const dead: TestServer = server;
      server = undefined;
      await dead.kill9();
      server = await start();
    }
    await crashed;
    // Until what comes back takes events again, so that the load has met both the end and the beginning.
    const before = [...ledger.acknowledged.values()].reduce((sum, ids) => sum + ids.size, 0);
    await until(() => [...ledger.acknowledged.values()].reduce((sum, ids) => sum + ids.size, 0) > before);
    await end();
    const now: TestServer = server!;
    await until(async () => (await now.get("/readyz")).status === 200);
    await caughtUp(now);
    await compare(now, ledger);
    await now.expectHealthy();
  }
  expect(await server!.stop()).toBe(0);
  server = undefined;
  return ledger;
}

describe(`crashes under load (PLIMSOLL_CRASH_SEED=${SEED})`, () => {
  it(`keeps what it acknowledged through ${CYCLES} kills of node, of PostgreSQL and of both`, {
    timeout: 300_000 + CYCLES * 30_000,
  }, async () => {
    const home = await makeHome();
    cleanUps.push(() => removeHome(home));
    const ledger = await crashCycles({
      victims: ["node", "postmaster", "both"],
      start: () => startTestServer({ home, embedded: true }),
      cycles: CYCLES,
    });
    expect(ledger.acknowledged.size).toBe(SESSIONS);
  });

  const fewer = Math.ceil(CYCLES / 4);
  it(`does the same through ${fewer} kills of node with DATABASE_URL set`, {
    timeout: 300_000 + fewer * 30_000,
  }, async () => {
    const database = await migratedDatabase();
    cleanUps.push(() => database.close());
    const home = await makeHome();
    cleanUps.push(() => removeHome(home));
    const ledger = await crashCycles({
      victims: ["node"],
      start: () => startTestServer({ home, databaseUrl: database.url }),
      cycles: fewer,
    });
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    // The keys themselves, once: the comparison above goes by times.
    const { rows } = await client.query(`SELECT ${turnBlocks.select("t")} FROM turn_blocks t`);
    await client.end();
    const stored = rows.flatMap((row) => unpackBlock(turnBlocks.parse(row)).rows.map(({ key }) => key));
    const keys = new Set(stored);
    expect(keys.size).toBe(stored.length);
    for (const ids of ledger.acknowledged.values())
      for (const id of ids) expect(keys.has(eventKey(id)), id).toBe(true);
  });
});
