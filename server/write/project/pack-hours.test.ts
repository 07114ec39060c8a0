import { pino } from "pino";
import { afterAll, beforeAll, beforeEach, expect, it, vi } from "vitest";
import type { PrismaClient } from "../../db/client.ts";
import { openWriters, type Writers } from "../../db/sql.ts";
import { sessionId } from "../../db/tables/identity.ts";
import { mayBePacked } from "../../db/tables/packed-minutes.ts";
import { PolicyBook } from "../../lines/policy-book.ts";
import type { FreshReader } from "../../lines/reader.ts";
import { readBreakdown } from "../../read/breakdown.ts";
import { readExtent } from "../../read/extent.ts";
import { readSeries } from "../../read/series.ts";
import { readTotals, readUtilization } from "../../read/status.ts";
import { readUnknownWindows } from "../../read/windows.ts";
import { dumpTables, emptyTables } from "../../testing/dump.ts";
import { setTestWindows, type TestIngest, testIngest } from "../../testing/ingest.ts";
import { storedRollups, sumsOfTurns } from "../../testing/rollup-sums.ts";
import { until } from "../../testing/until.ts";
import { upkeepDone } from "../../testing/upkeep.ts";
import { DAY_MS, HOUR_MS } from "../../times.ts";
import { examine } from "../../upkeep/doctor/examine.ts";
import type { HeldProject } from "./held-project.ts";
import { packOldestHour } from "./pack-hours.ts";

vi.setConfig({ testTimeout: 240_000 });
const MINUTE = 60_000;
/** The start of a day. */
const START = Math.floor(Date.now() / DAY_MS) * DAY_MS - 5 * DAY_MS;
const HARNESSES = ["h@one", "h@two"];

let path: TestIngest;
let prisma: PrismaClient;
let writers: Writers;

beforeAll(async () => {
  path = await testIngest();
  prisma = path.prisma;
  writers = openWriters({ url: path.databaseUrl, size: 1, log: pino({ level: "silent" }) });
  await setTestWindows(prisma);
});
afterAll(async () => {
  await writers?.end();
  await path?.close();
});
beforeEach(() => emptyTables(prisma));

/** Turns of three hours, of all kinds that a rollup tells apart; `n` counts minutes, some of which have several turns. */
const turnOf = (harness: string, n: number) => ({
  type: "turn",
  id: `t-${n}`,
  harness,
  session: `s-${harness}`,
  at: START + HOUR_MS + Math.floor(n / 2) * 3 * MINUTE + n,
  model: ["model-a", "model-b", "no-size"][n % 3],
  usage:
    n % 7 === 0
      ? { output_tokens: 5 }
      : { input_tokens: 300 + n * 97, cache_read_tokens: n, output_tokens: n },
  ...(n % 4 === 0 && { cost_usd: 0.01 * n }),
});

async function store(): Promise<void> {
  const turns = HARNESSES.flatMap((harness) => Array.from({ length: 99 }, (_, n) => turnOf(harness, n)));
  await path.sendOnce(turns);
}

/** A project whose projector does nothing else. */
function held(now: number, packsFrom = now): HeldProject {
  const project = {
    ...{ projectId: 1, memory: { packedTo: Number.NEGATIVE_INFINITY }, packsFrom, now: () => now },
    query: writers.query,
    transaction: writers.transaction,
  };
  return project as unknown as HeldProject;
}

async function packAll(): Promise<number> {
  const project = held(Date.now());
  let hours = 0;
  while (await packOldestHour(project)) hours += 1;
  return hours;
}

const minutesLeft = () => prisma.rollup.count({ where: { grain: 1 } });
const packed = () => prisma.packedMinutes.count();

async function expectExact(): Promise<void> {
  expect(await storedRollups(prisma)).toEqual(await sumsOfTurns(prisma));
}

async function faults(): Promise<string[]> {
  const { checks } = await examine(
    { projectId: 1 },
    { databaseUrl: path.databaseUrl, keyId: "key", clock: () => performance.now(), budget: undefined },
  );
  return checks.filter(({ ok }) => !ok).map(({ name, message }) => `${name}: ${message}`);
}

/** What pages show of a span whose ends are in the middle of hours. */
async function shown() {
  const span = { from: START + HOUR_MS + 4 * MINUTE, to: START + 3 * HOUR_MS + 17 * MINUTE };
  const range = { from: new Date(span.from).toISOString(), to: new Date(span.to).toISOString() };
  const policy = await PolicyBook.read({ query: writers.query }, 1);
  const reader = {
    ...{ prisma, projectId: 1, now: Date.now(), lag: { events: 0, ms: 0 }, policy },
  } as unknown as FreshReader;
  const series = (metric: "utilization_p95" | "utilization_peak" | "turns", group_by?: "model") =>
    readSeries(reader, { metric, ...range, step: 60, ...(group_by && { group_by, top: 5 }) } as never);
  return {
    totals: await Promise.all([undefined, ...HARNESSES].map((harness) => readTotals(reader, span, harness))),
    utilization: await readUtilization(reader, span, undefined),
    series: [
      await series("utilization_p95"),
      await series("utilization_peak"),
      await series("turns", "model"),
    ],
    breakdown: await readBreakdown(reader, { ...range, by: "cost_usd" } as never),
    unknown: await readUnknownWindows(reader, range as never),
    extents: await Promise.all([{}, { harness: "h@two" }].map((query) => readExtent(reader, query))),
  };
}

it("packs whole hours of old minutes, and no reader or check sees a difference", async () => {
  await store();
  const before = { dump: await dumpTables(prisma), shown: await shown() };
  expect(before.shown.totals[0]!.turns).toBeGreaterThan(100);
  expect(before.shown.unknown.turns).toBeGreaterThan(10);
  expect(await packAll()).toBe(3);
  expect(await minutesLeft()).toBe(0);
  // Each hour has all together, and two harnesses with three models.
  expect(await packed()).toBe(3 * 7);
  expect(await dumpTables(prisma)).toEqual(before.dump);
  expect(await shown()).toEqual(before.shown);
  await expectExact();
  expect(await faults()).toEqual([]);
});

it("keeps minutes of the last two days, and waits while old minutes are written", async () => {
  await store();
  const first = START + HOUR_MS;
  expect(await packOldestHour(held(first + 2 * DAY_MS + HOUR_MS - 1))).toBe(false);
  const due = first + 2 * DAY_MS + HOUR_MS;
  expect(await packOldestHour(held(due, due + 1))).toBe(false);
  expect(await packOldestHour(held(due))).toBe(true);
  expect(await packOldestHour(held(due))).toBe(false);
  expect([mayBePacked(first, due), mayBePacked(first + HOUR_MS, due)]).toEqual([true, false]);
});

it("adds late turns and corrections to packed minutes", async () => {
  await store();
  await packAll();
  const server = await path.start();
  const late = { ...turnOf("h@one", 3), id: "late" };
  // The highest level of its minute falls.
  const corrected = { ...turnOf("h@two", 59), usage: { input_tokens: 1, output_tokens: 2 } };
  await server.send(late, corrected);
  await upkeepDone(prisma);
  await server.close();
  expect(await minutesLeft()).toBeGreaterThan(0);
  expect(await packed()).toBeGreaterThan(0);
  await expectExact();
  expect(await faults()).toEqual([]);
  await packAll();
  expect(await minutesLeft()).toBe(0);
  await expectExact();
});

it("takes deleted sessions out of packed minutes", async () => {
  await store();
  await packAll();
  const server = await path.start();
  const id = sessionId(1, "h@one", "s-h@one");
  await prisma.session.updateMany({ where: { id }, data: { deletedAt: new Date(Date.now() - MINUTE) } });
  server.tidy();
  await until(async () => (await prisma.session.count()) === 1);
  await upkeepDone(prisma);
  await server.close();
  await expectExact();
  expect(await faults()).toEqual([]);
});

it("removes packed minutes with the rollups that retention no longer keeps", async () => {
  await store();
  await packAll();
  await prisma.project.update({ where: { id: 1 }, data: { sessionDays: 1, rollupDays: 1 } });
  const server = await path.start();
  server.tidy();
  await until(async () => (await packed()) === 0 && (await prisma.rollup.count()) === 0);
  await server.close();
  await prisma.project.update({
    where: { id: 1 },
    data: { sessionDays: null, rollupDays: null, horizon: null },
  });
});
