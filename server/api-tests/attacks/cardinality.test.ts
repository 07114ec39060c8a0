import { readFileSync } from "node:fs";
import type {
  DoctorReport,
  IngestCounts,
  ModelWindowList,
  Series,
  SessionDetail,
} from "@plimsoll/protocol/api";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { NAMES_PER_DAY } from "../../db/tables/rollup-names.ts";
import { startTestServer, type TestServer } from "../../testing/server.ts";
import { caughtUp, dayRange, makeKey, rangeQuery, START } from "../support.ts";

/** Names that one key sends, each in two requests' worth of turns at most. */
const NAMES = 20_000;
/** Bytes that an answer may have. */
const MOST_BYTES = 1_000_000;
/** Milliseconds that an answer may take. */
const MOST_MS = 3_000;
/** Bytes by which the server's memory may grow while it answers. */
const MOST_GROWTH = 400 * 1_024 * 1_024;
/** Turns that one honest harness sends before the attack, and after it. */
const HONEST = 40;
/** Agents of one session. */
const AGENTS = 3_000;
/** Names of thresholds. */
const THRESHOLDS = 2_000;
/** Harness instances with as long a description as they may have. */
const LONG_HELLOS = 200;
const MODEL = "claude-sonnet-4-5";

let server: TestServer;
let ingestKey: string;

beforeAll(async () => {
  server = await startTestServer();
  ingestKey = (await makeKey(server, "ingest")).secret;
  await sendAll([...honest("before"), ...Array.from({ length: LONG_HELLOS }, (_, n) => longHello(n))]);
  await caughtUp(server);
  await sendAll(Array.from({ length: NAMES }, (_, n) => hostile(n)));
  await sendAll(
    Array.from({ length: AGENTS }, (_, n) => ({ ...turn("honest", "crowd", MODEL, n), agent: `a${n}` })),
  );
  await sendAll(Array.from({ length: THRESHOLDS }, (_, n) => crossing(n)));
  await sendAll(honest("after"));
  await caughtUp(server);
});
afterAll(() => server?.stop());

const turn = (harness: string, session: string, model: string, n: number) => ({
  type: "turn",
  id: `${session}-${n}`,
  at: START + (n % 300) * 1_000,
  harness,
  session,
  model,
  usage: { input_tokens: 1_000 + (n % 100), output_tokens: 1 },
});

/** Every turn has a harness and a model of its own. */
const hostile = (n: number) => turn(`harness ${n}`, `s-${n}`, `model ${n}`, n);
const honest = (session: string) =>
  Array.from({ length: HONEST }, (_, n) => turn("honest", session, MODEL, n));

const crossing = (n: number) => ({
  type: "threshold_crossed",
  id: `crossing ${n}`,
  at: START + 1_000,
  harness: "honest",
  session: "crowd",
  agent: `a${n}`,
  threshold: `threshold ${n}`,
  direction: "up",
  threshold_tokens: 1_000,
  context_tokens: 1_001,
});
const longHello = (n: number) => ({
  type: "harness",
  id: "hello",
  at: START,
  harness: `long ${n}`,
  status: "hello",
  name: `${n} long`,
  capabilities: Array.from({ length: 128 }, (_, m) => `${n} ${m}`.padEnd(64, "é")),
});

async function sendAll(events: readonly unknown[]): Promise<void> {
  for (let start = 0; start < events.length; start += 5_000) {
    const { status, text } = await server.send(events.slice(start, start + 5_000), ingestKey);
    expect(status, text).toBe(200);
  }
}

/** Answers of these grow with names unless something bounds them. */
const READS = [
  ...["harness", "model"].flatMap((group) =>
    ["turns", "utilization_peak", "utilization_p95", "cost_usd"].map(
      (metric) => `/api/v1/series?${rangeQuery}&metric=${metric}&group_by=${group}&step=60&top=50`,
    ),
  ),
  `/api/v1/series?${rangeQuery}&metric=boundaries&group_by=harness`,
  `/api/v1/series?${rangeQuery}&metric=crossings&group_by=harness`,
  `/api/v1/series?${rangeQuery}&metric=crossings&group_by=type`,
  `/api/v1/status?${rangeQuery}`,
  "/api/v1/fleet?limit=500",
  "/api/v1/harnesses",
  `/api/v1/sessions?${rangeQuery}&limit=500`,
  `/api/v1/ingest/counts?${rangeQuery}`,
  "/api/trpc/windows.list",
  "/metrics",
];

describe("20,000 names of one ingest key", () => {
  it.each(READS)("leave the answer of %s small and quick", async (path) => {
    const before = residentBytes();
    const started = performance.now();
    const { status, text } = await server.get(path);
    const ms = performance.now() - started;
    expect(status, text.slice(0, 500)).toBe(200);
    expect(Buffer.byteLength(text)).toBeLessThan(MOST_BYTES);
    expect(ms).toBeLessThan(MOST_MS);
    expect(residentBytes() - before).toBeLessThan(MOST_GROWTH);
  });

  it.each(["harness", "model"])("are counted exactly by %s, the excess under one name", async (group) => {
    const series = await readSeries(`metric=turns&group_by=${group}`);
    const sum = series.groups.flatMap(({ points }) => points).reduce((total, { value }) => total + value!, 0);
    expect(sum).toBe(NAMES + AGENTS + 2 * HONEST);
    expect(series.groups).toHaveLength(11);
    const rest = series.groups.at(-1)!;
    expect(rest).toMatchObject({
      group: null,
      other: { names: NAMES_PER_DAY - 10, over_limit: true },
    });
    const known = series.groups[0]!;
    expect(known.group).toBe(group === "harness" ? "honest" : MODEL);
    // A name that was admitted before the attack keeps being counted.
    expect(known.points.reduce((total, { value }) => total + value!, 0)).toBe(AGENTS + 2 * HONEST);
  });

  it("are said to be too many, with the turns beyond the limit", async () => {
    const counts = (await server.get<IngestCounts>(`/api/v1/ingest/counts?${rangeQuery}`)).body;
    expect(counts.names).toEqual({
      limit: NAMES_PER_DAY,
      turns_over_limit: NAMES - (NAMES_PER_DAY - 1),
      boundaries_over_limit: 0,
    });
  });

  it("are few among the models", async () => {
    const windows = await server.trpc<ModelWindowList>("windows.list");
    expect(windows.unknown).toHaveLength(50);
    // The other name is one more, and the catalog knows the honest one's size.
    expect(windows.more_unknown).toBe(NAMES_PER_DAY - 1 + 1 - 50);
  });

  it("leave turns and sessions their true names", async () => {
    const { items } = (
      await server.get<{ items: { harness: string; model: string; turns: number }[] }>(
        `/api/v1/sessions?${rangeQuery}&harness=${encodeURIComponent("harness 19999")}`,
      )
    ).body;
    expect(items).toMatchObject([{ harness: "harness 19999", turns: 1 }]);
  });

  it("leave a session of 3,000 agents small, with a count of those left out", async () => {
    const found = `/api/v1/sessions?${rangeQuery}&q=crowd`;
    const { items } = (await server.get<{ items: { id: string }[] }>(found)).body;
    const { text, body } = await server.get<SessionDetail>(`/api/v1/sessions/${items[0]!.id}`);
    expect(Buffer.byteLength(text)).toBeLessThan(MOST_BYTES);
    expect([body.agents.length, body.more_agents]).toEqual([500, AGENTS - 500]);
  });

  it("leave the doctor without a complaint", async () => {
    const { checks } = await server.trpc<DoctorReport>("doctor", { answer_within_ms: 4_000 });
    expect(checks.length).toBeGreaterThan(4);
    expect(checks.filter(({ ok }) => !ok)).toEqual([]);
  });
});

async function readSeries(query: string): Promise<Series> {
  return (await server.get<Series>(`/api/v1/series?${new URLSearchParams(dayRange)}&${query}`)).body;
}

function residentBytes(): number {
  const status = readFileSync(`/proc/${server.pid}/status`, "utf8");
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)![1]) * 1_024;
}
