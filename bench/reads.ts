import type { SessionPage } from "@plimsoll/protocol/api";
import { readStorage, settle, upkeepDone } from "./database.ts";
import { busyFleet } from "./ingest.ts";
import {
  type BenchContext,
  type BenchGroup,
  type Measurement,
  percentileOf,
  rounded,
} from "./measurement.ts";
import { sendLoad } from "./processes.ts";
import { type BenchServer, type Home, makeHome, startServer } from "./server.ts";

const MILLION = 1_000_000;
const DAY = 86_400_000;
/** All turns are in this span, so ten times as many are ten times as dense. */
const SPAN = 30 * DAY;
const SPACING = 20_000;
const SESSION_TURNS = 400;
const CONNECTIONS = 8;
const BATCH = 1_000;
const REPEATS = 300;
const WARM_UPS = 20;
/** Turns of the live fleet on top of the history; enough for every agent to have a row. */
const LIVE_TURNS = 20_000;

/** Reads from a database that was filled through the real write path. */
export const reads: BenchGroup = {
  names: ["storage.turn", "read.overview", "read.sessions", "read.insights"],
  async *run(context) {
    const small = await filled(context, 1);
    try {
      if (context.wanted("storage.turn")) yield await stored(small.home);
      const large = context.large ? await filled(context, 10) : undefined;
      try {
        const sides = large === undefined ? [small] : [small, large];
        for (const side of sides) await enliven(side);
        for (const [name, calls] of READS) {
          if (!context.wanted(name)) continue;
          context.note(`${name} ...`);
          const [one, ten] = await timesOf(sides, calls);
          yield { ...measurement(name, one!), ...(ten === undefined ? {} : growth(one!, ten)) };
        }
        await large?.server.stop();
      } finally {
        await large?.home.remove();
      }
      await small.server.stop();
    } finally {
      await small.home.remove();
    }
  },
};

interface Side {
  home: Home;
  server: BenchServer;
  key: string;
}

/** Starts a server and fills it with this many million turns. */
async function filled(context: BenchContext, millions: number): Promise<Side> {
  const home = await makeHome();
  try {
    const server = await startServer({ home, pages: false });
    const key = await server.makeKey("ingest", "read");
    for (let part = 0; part < millions; part++) {
      context.note(`seeding ${part + 1} of ${millions} million turns ...`);
      await seed(server, key, MILLION, 11 + part);
    }
    const side = { home, server, key };
    await endSessions(side);
    await home.sql(settle);
    return side;
  } catch (error) {
    await home.remove();
    throw error;
  }
}

/** Milliseconds for the dashboard's default range and for all turns. */
interface Times {
  day: number;
  dayMedian: number;
  month: number;
  monthMedian: number;
}

function measurement(name: string, times: Times): Measurement {
  return {
    name,
    value: rounded(times.day, 1),
    unit: "ms",
    p50_ms: rounded(times.dayMedian, 1),
    month_p95_ms: rounded(times.month, 1),
    month_p50_ms: rounded(times.monthMedian, 1),
  };
}

function growth(one: Times, ten: Times): Record<string, number> {
  return {
    p95_ms_at_10M: rounded(ten.day, 1),
    p50_ms_at_10M: rounded(ten.dayMedian, 1),
    growth: rounded(ten.day / one.day, 2),
    growth_of_median: rounded(ten.dayMedian / one.dayMedian, 2),
    month_p95_ms_at_10M: rounded(ten.month, 1),
    month_growth: rounded(ten.month / one.month, 2),
    month_growth_of_median: rounded(ten.monthMedian / one.monthMedian, 2),
  };
}

/** Sends sessions that begin, work and end, spread evenly over the span. */
async function seed(server: BenchServer, key: string, turns: number, seed: number): Promise<void> {
  const sessions = Math.round((turns * SPACING) / SPAN);
  const report = await sendLoad({
    targets: [{ port: server.port, key }],
    fleet: {
      connections: CONNECTIONS,
      sessions: Math.max(sessions, CONNECTIONS),
      turns,
      spacing: (SPAN * Math.max(sessions, CONNECTIONS)) / turns,
      sessionTurns: SESSION_TURNS,
      outcomes: true,
      end: Date.now() - 3_600_000,
      seed,
    },
    batch: BATCH,
    requests: turns / BATCH,
    toEnd: true,
    ready: false,
    warmUp: 0,
    counted: 30 * 60_000,
  });
  if (report.accepted < turns * 0.99)
    throw new Error(`Only ${report.accepted} of ${turns} events were accepted.`);
}

/** Ends the open sessions, so that ten times the history is not ten times the live fleet. */
async function endSessions({ server, key }: Side): Promise<void> {
  const { items } = await server.query<SessionPage>("sessions.list", {
    ...rangeOf(SPAN),
    status: "live",
    limit: 500,
  });
  const at = Date.now();
  const response = await fetch(`${server.url}/api/v1/events`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify(
      items.map(({ id, harness, session }) => ({
        type: "session",
        id,
        at,
        harness,
        session,
        status: "ended",
        reason: "done",
      })),
    ),
  });
  const answer = await response.text();
  if (response.status !== 200 || JSON.parse(answer).accepted !== items.length) {
    throw new Error(`The sessions could not be ended: ${answer.slice(0, 300)}`);
  }
}

/** Adds 200 live agents, as on a working day. */
async function enliven({ home, server, key }: Side): Promise<void> {
  await sendLoad({
    targets: [{ port: server.port, key }],
    fleet: busyFleet(CONNECTIONS, LIVE_TURNS, 21),
    batch: 500,
    requests: LIVE_TURNS / 500,
    ready: false,
    warmUp: 0,
    counted: 60_000,
  });
  await home.sql(settle);
  await home.sql(upkeepDone);
  await server.examine();
}

async function stored(home: Home): Promise<Measurement> {
  const { turns, table, indexes } = await home.sql(readStorage);
  return {
    name: "storage.turn",
    value: rounded((table + indexes) / turns),
    unit: "bytes",
    table: rounded(table / turns),
    indexes: rounded(indexes / turns),
    turns,
  };
}

type Call = readonly [procedure: string, input: object];

/** The procedures that the Fleet page calls in one request. */
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

/** What the page Insights asks for. */
function insights(span: number): Call[] {
  const range = rangeOf(span);
  return [
    ["rebuilds", range],
    ["falls", range],
    ["quality", { ...range, signal: "failed" }],
  ];
}

function rangeOf(span: number): { from: string; to: string } {
  const to = Math.ceil(Date.now() / 60_000) * 60_000;
  return { from: new Date(to - span).toISOString(), to: new Date(to).toISOString() };
}

const READS = [
  ["read.overview", overview],
  ["read.sessions", firstPage],
  ["read.insights", insights],
] as const;

async function timesOf(sides: readonly Side[], calls: (span: number) => Call[]): Promise<Times[]> {
  const day = await timed(sides, () => calls(DAY));
  const month = await timed(sides, () => calls(SPAN));
  return sides.map((_, at) => ({
    day: percentileOf(day[at]!, 0.95),
    dayMedian: percentileOf(day[at]!, 0.5),
    month: percentileOf(month[at]!, 0.95),
    monthMedian: percentileOf(month[at]!, 0.5),
  }));
}

/** Milliseconds of each request, by server. The servers take turns, so other work on the machine slows all alike. */
async function timed(sides: readonly Side[], calls: () => Call[]): Promise<number[][]> {
  const times = sides.map((): number[] => []);
  for (let index = 0; index < WARM_UPS + REPEATS; index++) {
    for (const [at, side] of sides.entries()) {
      const spent = await ask(side, calls());
      if (index >= WARM_UPS) times[at]!.push(spent);
    }
  }
  return times;
}

async function ask({ server, key }: Side, calls: readonly Call[]): Promise<number> {
  const input = JSON.stringify(
    Object.fromEntries([...calls.entries()].map(([at, [, given]]) => [at, given])),
  );
  const path = calls.map(([procedure]) => procedure).join(",");
  const started = performance.now();
  const response = await fetch(`${server.url}/api/trpc/${path}?batch=1&input=${encodeURIComponent(input)}`, {
    headers: { authorization: `Bearer ${key}` },
  });
  const text = await response.text();
  const spent = performance.now() - started;
  if (response.status !== 200) throw new Error(`${path} answered ${response.status}: ${text.slice(0, 300)}`);
  return spent;
}
