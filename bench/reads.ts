import { busyFleet, bytesPerTurn } from "./ingest.ts";
import type { Context, Group, Measurement } from "./measurement.ts";
import { percentileOf, rounded } from "./measurement.ts";
import { sendLoad } from "./processes.ts";
import { type BenchServer, type Home, makeHome, startServer } from "./server.ts";

const MILLION = 1_000_000;
const DAY = 86_400_000;
/** All turns lie in this many days, so that ten times as many make it ten times as dense. */
const SPAN = 30 * DAY;
const SPACING = 20_000;
const SESSION_TURNS = 400;
const CONNECTIONS = 8;
const BATCH = 1_000;
const REPEATS = 120;
const WARM_UPS = 20;
/** The live fleet on top of the history: enough for every agent to have a row. */
const LIVE_TURNS = 20_000;

/** Reading from a database that has filled up through the real write path. */
export const reads: Group = {
  names: ["storage.turn", "read.overview", "read.sessions"],
  async *run(context) {
    const home = await makeHome();
    try {
      const server = await startServer({ home, pages: false });
      context.note("seeding 1 million turns ...");
      const key = await server.makeKey("ingest", "read");
      await seed(server, key, MILLION, 11);
      yield* stored(context, home);
      await sendLive(server, key);
      await server.examine();
      const small = await readAll(context, home, server, key);
      if (!context.large) {
        for (const [name, times] of small) yield measurement(name, times);
        return;
      }
      context.note("seeding 9 million more ...");
      for (let part = 0; part < 9; part++) {
        await seed(server, key, MILLION, 12 + part);
        context.note(`  ${part + 2} million`);
      }
      await sendLive(server, key);
      await server.examine();
      const large = await readAll(context, home, server, key);
      for (const [name, times] of small) {
        const later = large.get(name)!;
        yield {
          ...measurement(name, times),
          p95_ms_at_10M: rounded(later.day, 1),
          growth: rounded(later.day / times.day, 2),
          month_p95_ms_at_10M: rounded(later.month, 1),
          month_growth: rounded(later.month / times.month, 2),
        };
      }
      await server.stop();
    } finally {
      await home.remove();
    }
  },
};

/** p95 in ms over the dashboard's own range, and over all there is. */
interface Times {
  day: number;
  dayMedian: number;
  month: number;
}

function measurement(name: string, times: Times): Measurement {
  return {
    name,
    value: rounded(times.day, 1),
    unit: "ms",
    p50_ms: rounded(times.dayMedian, 1),
    month_p95_ms: rounded(times.month, 1),
  };
}

/** Sessions that begin, work and end, spread evenly over the span. */
async function seed(server: BenchServer, key: string, turns: number, seed: number): Promise<void> {
  const sessions = Math.round((turns * SPACING) / SPAN);
  const report = await sendLoad({
    port: server.port,
    key,
    fleet: {
      connections: CONNECTIONS,
      sessions: Math.max(sessions, CONNECTIONS),
      turns,
      spacing: (SPAN * Math.max(sessions, CONNECTIONS)) / turns,
      sessionTurns: SESSION_TURNS,
      end: Date.now() - 3_600_000,
      seed,
    },
    batch: BATCH,
    requests: turns / BATCH,
    ready: false,
    warmUp: 0,
    counted: 30 * 60_000,
  });
  if (report.accepted < turns * 0.99)
    throw new Error(`only ${report.accepted} of ${turns} events were stored`);
}

/** So that the fleet has 200 live rows, as it would on a working day. */
async function sendLive(server: BenchServer, key: string): Promise<void> {
  await sendLoad({
    port: server.port,
    key,
    fleet: busyFleet(CONNECTIONS, LIVE_TURNS, 21),
    batch: 500,
    requests: LIVE_TURNS / 500,
    ready: false,
    warmUp: 0,
    counted: 60_000,
  });
}

async function* stored(context: Context, home: Home): AsyncIterable<Measurement> {
  if (!context.wanted("storage.turn")) return;
  const bytes = await bytesPerTurn(home);
  const [turns, table, indexes] = await home.sql(async (client) => {
    const { rows } = await client.query<{ turns: number; heap: number; indexes: number }>(
      `SELECT count(*)::float8 AS turns, pg_table_size('turns')::float8 AS heap,
         pg_indexes_size('turns')::float8 AS indexes FROM turns`,
    );
    return [rows[0]!.turns, rows[0]!.heap, rows[0]!.indexes];
  });
  yield {
    name: "storage.turn",
    value: rounded(bytes),
    unit: "bytes",
    table: rounded(table! / turns!),
    indexes: rounded(indexes! / turns!),
    turns: turns!,
  };
}

async function readAll(
  context: Context,
  home: Home,
  server: BenchServer,
  key: string,
): Promise<Map<string, Times>> {
  // What autovacuum does within its minute; without it the first reads would measure a database in mid-air.
  await home.sql((client) => client.query("VACUUM (ANALYZE)"));
  const found = new Map<string, Times>();
  for (const [name, paths] of [
    ["read.overview", overview],
    ["read.sessions", firstPage],
  ] as const) {
    if (!context.wanted(name)) continue;
    context.note(`${name} ...`);
    const day = await timed(server, key, () => paths(DAY));
    const month = await timed(server, key, () => paths(SPAN));
    found.set(name, {
      day: percentileOf(day, 0.95),
      dayMedian: percentileOf(day, 0.5),
      month: percentileOf(month, 0.95),
    });
  }
  return found;
}

type Call = readonly [procedure: string, input: object];

/** What the Fleet page asks for, in one request as it does. */
function overview(span: number): Call[] {
  const range = rangeOf(span);
  const step = span === DAY ? 900 : 21_600;
  return [
    ["status", range],
    ["fleet", {}],
    ["series", { metric: "utilization_peak", ...range, step }],
    ["series", { metric: "utilization_p95", ...range, step }],
    ["series", { metric: "boundaries", group_by: "type", ...range, step: span === DAY ? 1_800 : 43_200 }],
  ];
}

function firstPage(span: number): Call[] {
  return [["sessions.list", rangeOf(span)]];
}

function rangeOf(span: number): { from: string; to: string } {
  const to = Math.ceil(Date.now() / 60_000) * 60_000;
  return { from: new Date(to - span).toISOString(), to: new Date(to).toISOString() };
}

/** Milliseconds of one request after another. */
async function timed(server: BenchServer, key: string, calls: () => Call[]): Promise<number[]> {
  const times: number[] = [];
  for (let index = 0; index < WARM_UPS + REPEATS; index++) {
    const asked = calls();
    const input = JSON.stringify(
      Object.fromEntries([...asked.entries()].map(([at, [, given]]) => [at, given])),
    );
    const path = asked.map(([procedure]) => procedure).join(",");
    const started = performance.now();
    const response = await fetch(
      `${server.url}/api/trpc/${path}?batch=1&input=${encodeURIComponent(input)}`,
      {
        headers: { authorization: `Bearer ${key}` },
      },
    );
    const text = await response.text();
    const spent = performance.now() - started;
    if (response.status !== 200)
      throw new Error(`${path} answered ${response.status}: ${text.slice(0, 300)}`);
    if (index >= WARM_UPS) times.push(spent);
  }
  return times;
}
