import { setTimeout as sleep } from "node:timers/promises";
import type { FleetStatus } from "@plimsoll/protocol/api";
import { type PlimsollEvent, parseEvent } from "@plimsoll/protocol/events";
import type { Client } from "pg";
import { v7 as uuid } from "uuid";
import { journal } from "../server/db/tables/journal.ts";
import { packEntry } from "../server/write/journal/journal-entry.ts";
import { LoadConnection, requestBytes } from "./connection.ts";
import { readProgress, settle } from "./database.ts";
import { busyFleet } from "./ingest.ts";
import { type BenchGroup, type Measurement, percentileOf, rounded } from "./measurement.ts";
import { type BenchServer, type Home, startServer } from "./server.ts";
import { eventsOf, type NextEvent } from "./traffic.ts";
import { withServer } from "./with-server.ts";

const CONNECTIONS = 8;
const BATCH = 500;
const PROJECT = 1;
/** Events that the agents have before the backlog builds up. */
const HISTORY = 100_000;
/** The server accepts half a second of backlog, too little to time. The row adds journal rows up to this number. */
const BACKLOG = 600_000;
/** Events in a row of the journal, as in a full group commit. */
const ROW_EVENTS = 2_000;
/** Milliseconds between two looks at the journal, and between two reads. */
const POLL = 100;
const LIMIT = 180_000;
/** Range of the status, ms. */
const RANGE = 86_400_000;

/**
 * Kills the server and the postmaster with SIGKILL while the journal is full, starts the server again, and measures how
 * fast it projects the journal while a reader polls the status.
 */
export const recovery: BenchGroup = {
  names: ["ingest.recovery"],
  async *run(context) {
    context.note("ingest.recovery ...");
    yield await withServer(async (first, home) => {
      const key = await first.makeKey("ingest", "read");
      const backlog = await fillJournal(home, first, key);
      await killBoth(home, first);
      const started = performance.now();
      const second = await startServer({ home, pages: false });
      try {
        const listening = performance.now() - started;
        return {
          ...(await catchUp(home, second, key, started)),
          backlog,
          listening_after_s: seconds(listening),
        };
      } finally {
        await second.stop();
      }
    });
  },
};

async function catchUp(home: Home, server: BenchServer, key: string, started: number): Promise<Measurement> {
  const reader = readStatuses(server, key);
  const { rate, secondHalf, firstProgress } = await home
    .sql((client) => watchJournal(client, started))
    .finally(() => reader.stop().catch(() => {}));
  const reads = await reader.stop();
  await home.sql(settle);
  await server.examine();
  return {
    name: "ingest.recovery",
    value: rounded(rate),
    unit: "events/s",
    second_half: rounded(secondHalf),
    first_progress_after_s: seconds(firstProgress),
    ...reads,
    doctor: "ok",
  };
}

function seconds(milliseconds: number): number {
  return rounded(milliseconds / 1_000, 1);
}

/** Sends events until the server refuses them, while nothing is projected. Returns the events in the journal. */
async function fillJournal(home: Home, server: BenchServer, key: string): Promise<number> {
  const { next } = eventsOf(busyFleet(CONNECTIONS, HISTORY + 2 * BACKLOG, 61));
  await send({ port: server.port, key, next, events: HISTORY });
  return home.sql(async (client) => {
    await settle(client);
    // As if another server projected: this one only fills the journal.
    await leaveToAnother(client, 3_600_000);
    await send({ port: server.port, key, next, events: BACKLOG });
    const { backlog } = await readProgress(client);
    await addToJournal(client, next, BACKLOG - backlog);
    // The lease that a killed server leaves behind.
    await leaveToAnother(client, 3_000);
    return (await readProgress(client)).backlog;
  });
}

/** Gives the lease to a process that is silent, and that others replace after `patienceMs`. */
async function leaveToAnother(client: Client, patienceMs: number): Promise<void> {
  await client.query(
    `UPDATE projectors SET holder = gen_random_uuid(), epoch = epoch + 1, patience_ms = $1, contested_at = now()`,
    [patienceMs],
  );
}

/** Sends so many events over all connections, or fewer if the server refuses one. */
async function send(options: { port: number; key: string; next: NextEvent; events: number }): Promise<void> {
  const { port, key, next, events } = options;
  const requests = events / BATCH / CONNECTIONS;
  let isFull = false;
  const drive = async (lane: number) => {
    const connection = await LoadConnection.open(port);
    for (let sent = 0; sent < requests && !isFull; sent++) {
      const body = `[${Array.from({ length: BATCH }, () => next(lane)).join(",")}]`;
      const { status } = await connection.send(requestBytes({ port, path: "/api/v1/events", key, body }));
      if (status === 503) isFull = true;
      else if (status !== 200) throw new Error(`The server answered ${status} to a batch.`);
    }
    connection.close();
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, (_, lane) => drive(lane)));
}

/** Writes events to the journal as a server does after it has checked them. */
async function addToJournal(client: Client, next: NextEvent, events: number): Promise<void> {
  for (let added = 0; added < events; added += ROW_EVENTS) {
    const body: PlimsollEvent[] = Array.from({ length: ROW_EVENTS }, (_, index) => {
      const parsed = parseEvent(JSON.parse(next(index % CONNECTIONS)));
      if (!parsed.ok) throw new Error(parsed.rejection.message);
      return parsed.event;
    });
    const row = { id: uuid(), events: ROW_EVENTS, body: await packEntry({ events: body }) };
    const { text, values } = journal.insert(PROJECT, [row]);
    await client.query(text, values);
  }
}

async function killBoth(home: Home, server: BenchServer): Promise<void> {
  const postmaster = await home.postmaster();
  const killed = server.kill9();
  process.kill(postmaster, "SIGKILL");
  await killed;
}

interface CatchUp {
  /** Events a second from the first progress until the journal is empty. */
  rate: number;
  secondHalf: number;
  /** Milliseconds from the start of the server. */
  firstProgress: number;
}

async function watchJournal(client: Client, started: number): Promise<CatchUp> {
  const samples: { at: number; backlog: number }[] = [];
  for (;;) {
    const { backlog } = await readProgress(client);
    samples.push({ at: performance.now(), backlog });
    if (backlog === 0) break;
    if (performance.now() - started > LIMIT) throw new Error(`${backlog} events are still not projected.`);
    await sleep(POLL);
  }
  const full = samples[0]!.backlog;
  const last = samples.at(-1)!;
  const begin = samples.findLast(({ backlog }) => backlog === full)!;
  const middle = samples.find(({ backlog }) => backlog <= full / 2)!;
  return {
    rate: (full / (last.at - begin.at)) * 1_000,
    secondHalf: (middle.backlog / (last.at - middle.at)) * 1_000,
    firstProgress: begin.at - started,
  };
}

/** Polls the status until `stop`, which returns how long the answers took and whether they said `behind`. */
function readStatuses(server: BenchServer, key: string): { stop: () => Promise<Reads> } {
  const times: number[] = [];
  let behind = 0;
  let isStopped = false;
  const now = Date.now();
  const range = new URLSearchParams({
    from: new Date(now - RANGE).toISOString(),
    to: new Date(now).toISOString(),
  });
  const read = async () => {
    while (!isStopped) {
      const started = performance.now();
      const response = await fetch(`${server.url}/api/v1/status?${range}`, {
        headers: { authorization: `Bearer ${key}` },
      });
      const text = await response.text();
      if (response.status !== 200)
        throw new Error(`The status answered ${response.status}: ${text.slice(0, 300)}`);
      times.push(performance.now() - started);
      if ((JSON.parse(text) as FleetStatus).behind != null) behind += 1;
      await sleep(POLL);
    }
  };
  const reading = read();
  // `stop` reports the error.
  reading.catch(() => {});
  return {
    async stop() {
      isStopped = true;
      await reading;
      const reads = times.length;
      return { reads, reads_behind: behind, read_p95_ms: rounded(percentileOf(times, 0.95), 1) };
    },
  };
}

type Reads = Pick<Measurement, "reads" | "reads_behind" | "read_p95_ms">;
