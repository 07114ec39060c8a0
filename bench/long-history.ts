import type { SessionChart, SessionPage, TurnPage } from "@plimsoll/protocol/api";
import { LoadConnection, requestBytes } from "./connection.ts";
import { settle } from "./database.ts";
import { Fleet } from "./fleet.ts";
import { type BenchGroup, type Measurement, percentileOf, rounded } from "./measurement.ts";
import type { BenchServer } from "./server.ts";
import { withServer } from "./with-server.ts";

const EVENTS = 300_000;
const BATCH = 1_000;
const SPACING = 5_000;
const WARM_UPS = 5;
const PAGES = 100;
const CHARTS = 10;
const EXPORTS = 3;

/** Reads of one agent with 300,000 events. */
export const longHistory: BenchGroup = {
  names: ["turns.page", "turns.csv", "turns.chart"],
  async *run(context) {
    const rows = await withServer(async (server, home) => {
      context.note(`seeding ${EVENTS} events of one agent ...`);
      const key = await server.makeKey("ingest");
      await seedLongHistory(server, key, EVENTS);
      await home.sql(settle);
      // The local token has no quota.
      const range = { from: new Date(0).toISOString(), to: new Date().toISOString() };
      const { items } = await server.query<SessionPage>("sessions.list", { ...range, limit: 1 });
      const { id } = items[0]!;
      const measured: Measurement[] = [];
      if (context.wanted("turns.page")) measured.push(await pages(server, id));
      if (context.wanted("turns.csv")) measured.push(await exports(server, id));
      if (context.wanted("turns.chart")) measured.push(await charts(server, id));
      return measured;
    });
    yield* rows;
  },
};

/** Sends the history of one agent, all of it before the last hour. */
export async function seedLongHistory(server: BenchServer, key: string, events: number): Promise<void> {
  const fleet = new Fleet({
    connections: 1,
    sessions: 1,
    agents: 1,
    turns: events,
    spacing: SPACING,
    sessionTurns: 0,
    end: Date.now() - 3_600_000,
    seed: 61,
  });
  const connection = await LoadConnection.open(server.port);
  for (let from = 0; from < events; from += BATCH) {
    const body = `[${Array.from({ length: BATCH }, () => fleet.event(0)).join(",")}]`;
    const answer = await connection.send(
      requestBytes({ port: server.port, path: "/api/v1/events", key, body }),
    );
    if (answer.status !== 200) throw new Error(`The server answered ${answer.status}: ${answer.body}`);
  }
  connection.close();
}

async function timesOf(count: number, read: () => Promise<unknown>): Promise<number[]> {
  const times: number[] = [];
  for (let run = 0; run < WARM_UPS + count; run++) {
    const started = performance.now();
    await read();
    if (run >= WARM_UPS) times.push(performance.now() - started);
  }
  return times;
}

/** A page of 100 turns: the first one, and one from the middle of the history. */
async function pages(server: BenchServer, id: string): Promise<Measurement> {
  const { agents } = await server.query<SessionChart>("sessions.chart", { id });
  const { agent_id, points } = agents[0]!;
  const turn = points[Math.floor(points.length / 2)]!.key;
  const { next_cursor: cursor } = await server.query<TurnPage>("sessions.turns", {
    id,
    agent_id,
    turn,
    limit: 100,
  });
  const first = await timesOf(PAGES, () => server.query("sessions.turns", { id, limit: 100 }));
  const middle = await timesOf(PAGES, () => server.query("sessions.turns", { id, limit: 100, cursor }));
  const linked = await timesOf(PAGES, () =>
    server.query("sessions.turns", { id, agent_id, turn, limit: 100 }),
  );
  return {
    name: "turns.page",
    value: rounded(percentileOf(middle, 0.5), 1),
    unit: "ms",
    p95_ms: rounded(percentileOf(middle, 0.95), 1),
    first_p50_ms: rounded(percentileOf(first, 0.5), 1),
    linked_p50_ms: rounded(percentileOf(linked, 0.5), 1),
  };
}

async function exports(server: BenchServer, id: string): Promise<Measurement> {
  const key = await server.makeKey("read");
  const rates: number[] = [];
  let lines = 0;
  for (let run = 0; run < EXPORTS; run++) {
    const started = performance.now();
    const response = await fetch(`${server.url}/api/v1/sessions/${id}/turns.csv`, {
      headers: { authorization: `Bearer ${key}` },
    });
    lines = -1;
    for await (const chunk of response.body!) for (const byte of chunk) if (byte === 10) lines += 1;
    rates.push(lines / ((performance.now() - started) / 1_000));
  }
  return { name: "turns.csv", value: rounded(percentileOf(rates, 0.5)), unit: "rows/s", rows: lines };
}

/** The chart, and how long another request waits meanwhile. */
async function charts(server: BenchServer, id: string): Promise<Measurement> {
  const waits: number[] = [];
  let done = false;
  const others = (async () => {
    while (!done) {
      const started = performance.now();
      await fetch(`${server.url}/healthz`).then((response) => response.text());
      waits.push(performance.now() - started);
    }
  })();
  const times = await timesOf(CHARTS, () => server.query("sessions.chart", { id }));
  done = true;
  await others;
  return {
    name: "turns.chart",
    value: rounded(percentileOf(times, 0.5), 0),
    unit: "ms",
    p95_ms: rounded(percentileOf(times, 0.95), 0),
    healthz_max_ms: rounded(Math.max(...waits), 0),
  };
}
