import fc from "fast-check";
import { pino } from "pino";
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import type { PrismaClient } from "../../db/client.ts";
import { SLOT_MS } from "../../db/tables/buckets.ts";
import { sessionId } from "../../db/tables/identity.ts";
import { createDeletions } from "../../tenants/deletion/deletions.ts";
import { createRetention, type Retention } from "../../tenants/deletion/retention.ts";
import { emptyTables } from "../../testing/dump.ts";
import { setTestWindows, type TestIngest, testIngest } from "../../testing/ingest.ts";
import { until } from "../../testing/until.ts";
import { upkeepDone } from "../../testing/upkeep.ts";
import { DAY_MS } from "../../times.ts";
import { examine } from "../../upkeep/doctor/examine.ts";
import { eventCut, rollupCut, sessionCut } from "./retention-cut.ts";

const ACTOR = { kind: "local" } as const;
const HARNESS = "h@one";
/** Milliseconds that a busy machine may take to remove everything. */
const LIMIT_MS = 120_000;
vi.setConfig({ testTimeout: 2 * LIMIT_MS });
/** In the middle of a day, so that a minute that passes changes no day. Epoch ms. */
const NOW = Math.floor(Date.now() / DAY_MS) * DAY_MS + DAY_MS / 2;
const daysAgo = (days: number) => NOW - days * DAY_MS;

let path: TestIngest;
let prisma: PrismaClient;
let retention: Retention;

beforeAll(async () => {
  path = await testIngest({ log: pino({ level: "silent" }) });
  prisma = path.prisma;
  retention = createRetention({ prisma, changed: () => {}, clock: Date.now });
  await setTestWindows(prisma);
});
afterAll(() => path?.close());
beforeEach(async () => {
  await emptyTables(prisma);
  await prisma.project.update({
    where: { id: 1 },
    data: { sessionDays: null, rollupDays: null, horizon: null },
  });
});

/** Turns with falls, a minute apart. */
function eventsOf(session: string, from: number, turns = 30, everyMs = 60_000) {
  return Array.from({ length: turns }, (_, n) => ({
    harness: HARNESS,
    session,
    id: `turn-${n}`,
    type: "turn",
    at: from + n * everyMs,
    model: n % 5 === 4 ? "model-b" : "model-a",
    usage: { input_tokens: 600 + (n % 9) * 900, output_tokens: n },
  }));
}

async function faults(): Promise<string> {
  const { checks } = await examine(
    { projectId: 1 },
    { databaseUrl: path.databaseUrl, keyId: "key", clock: () => performance.now(), budget: undefined },
  );
  return checks
    .filter(({ ok }) => !ok)
    .map(({ name, message }) => `${name}: ${message}`)
    .join("\n");
}

const names = async () =>
  (await prisma.session.findMany({ orderBy: { name: "asc" } })).map(({ name }) => name);
const fleetTurns = async () => {
  const { _sum } = await prisma.rollup.aggregate({
    where: { grain: 360, harness: "" },
    _sum: { turns: true },
  });
  return _sum.turns ?? 0;
};

describe("retention", () => {
  it("removes whole sessions by their last event, and keeps their rollups", async () => {
    const server = await path.start({ segmentTurns: 8 });
    await server.send(
      ...eventsOf("old", daysAgo(40)),
      ...eventsOf("new", daysAgo(5)),
      // Began long ago and goes on: nothing of it is removed.
      ...eventsOf("long", daysAgo(40), 40, DAY_MS - 1),
    );
    expect(await retention.preview(1, { session_days: 30, rollup_days: null })).toEqual({
      sessions: 1,
      turns: 30,
      rollup_days: 0,
    });
    await retention.set(1, { session_days: 30, rollup_days: null }, ACTOR);
    server.tidy();
    await until(async () => (await names()).join() === "long,new", LIMIT_MS);
    await upkeepDone(prisma);
    expect(await fleetTurns()).toBe(100);
    expect(await prisma.boundaryRollup.count()).toBeGreaterThan(0);
    const { horizon, oldest_days } = await retention.read(1);
    expect(Date.parse(horizon!)).toBeLessThanOrEqual(daysAgo(30) + DAY_MS);
    expect(oldest_days).toBeGreaterThanOrEqual(39);
    expect(await faults()).toBe("");
    await server.close();
  });

  it("removes quotas seven days after their reset, whatever is kept, and takes them again", async () => {
    const server = await path.start();
    const reading = (limit: string, days: number) => ({
      ...{ type: "quota", id: limit, at: Date.now(), harness: HARNESS, provider: "anthropic", limit },
      ...{ used_percent: 40, resets_at: daysAgo(days) },
    });
    const limits = async () => (await prisma.quotaPercent.findMany()).map(({ name }) => name).sort();
    await server.send(reading("old", 8), reading("new", 6));
    expect(await limits()).toEqual(["new", "old"]);
    server.tidy();
    await until(async () => (await limits()).join() === "new", LIMIT_MS);
    await server.send(reading("old", -1));
    expect(await limits()).toEqual(["new", "old"]);
    await server.close();
  });

  it("keeps peaks of before the horizon when a turn of that time is corrected or deleted", async () => {
    const server = await path.start({ segmentTurns: 8 });
    const peak = { ...eventsOf("old", daysAgo(40), 1)[0]!, usage: { input_tokens: 9_500 } };
    const long = eventsOf("long", daysAgo(40), 40, DAY_MS - 1);
    await server.send(peak, ...long);
    await retention.set(1, { session_days: 30, rollup_days: null }, ACTOR);
    server.tidy();
    await until(async () => (await names()).join() === "long", LIMIT_MS);
    // Setting the size of a window computes the turns again, so that peaks of their minutes are read again.
    await server.ingest.command(1, { type: "set_window", model: "model-a", tokens: 20_000 });
    await upkeepDone(prisma);
    expect(await faults()).toBe("");
    const deletions = createDeletions({ prisma, changed: () => {}, clock: Date.now });
    await deletions.deleteSessions([sessionId(1, HARNESS, "long")], { projectId: 1, actor: ACTOR });
    await prisma.$executeRaw`UPDATE sessions SET deleted_at = (deleted_at AT TIME ZONE 'UTC' - interval '1 minute') AT TIME ZONE 'UTC'`;
    await until(async () => (await names()).length === 0, LIMIT_MS);
    await upkeepDone(prisma);
    const rows = await prisma.rollup.findMany({ where: { harness: "", turns: { gt: 0 } } });
    expect(rows.map(({ grain, turns, peakTokens }) => [grain, turns, peakTokens]).sort()).toEqual(
      [1, 15, 60, 360].map((grain) => [grain, 1, 9_500]).sort(),
    );
    expect(await faults()).toBe("");
    await server.close();
  });

  it("removes rollups by day once no session reaches back to them, with their names", async () => {
    const server = await path.start({ segmentTurns: 8 });
    await server.send(
      ...eventsOf("a", daysAgo(90)),
      ...eventsOf("b", daysAgo(70)),
      ...eventsOf("c", daysAgo(40)),
      ...eventsOf("d", daysAgo(5)),
    );
    const days = { session_days: 30, rollup_days: 60 };
    expect(await retention.preview(1, days)).toEqual({ sessions: 3, turns: 90, rollup_days: 2 });
    await retention.set(1, days, ACTOR);
    server.tidy();
    await until(async () => (await names()).join() === "d" && (await fleetTurns()) === 60, LIMIT_MS);
    await until(
      async () => (await prisma.rollupName.count({ where: { day: { lt: new Date(daysAgo(61)) } } })) === 0,
      LIMIT_MS,
    );
    expect(await prisma.rollup.count({ where: { bucket: { lt: new Date(daysAgo(61)) } } })).toBe(0);
    expect(await prisma.boundaryRollup.count({ where: { bucket: { lt: new Date(daysAgo(61)) } } })).toBe(0);
    expect(await faults()).toBe("");
    // Switched off again, the project takes old events, and their day gets its names back.
    await retention.set(1, { session_days: null, rollup_days: null }, ACTOR);
    await server.send(...eventsOf("e", daysAgo(90)));
    await upkeepDone(prisma);
    expect(await fleetTurns()).toBe(90);
    expect(await faults()).toBe("");
    await server.close();
  });

  it("keeps the rollups of a session that goes on, however old they are", async () => {
    const server = await path.start();
    await server.send(...eventsOf("long", daysAgo(90), 90, DAY_MS - 1));
    await retention.set(1, { session_days: 30, rollup_days: 60 }, ACTOR);
    expect(await retention.preview(1, { session_days: 30, rollup_days: 60 })).toMatchObject({
      rollup_days: 0,
    });
    server.tidy();
    await server.send(...eventsOf("other", daysAgo(1)));
    await upkeepDone(prisma);
    expect(await fleetTurns()).toBe(120);
    expect(await faults()).toBe("");
    await server.close();
  });

  it("refuses events that are older than what is kept, and says what to do", async () => {
    const server = await path.start();
    const [old] = eventsOf("s", daysAgo(31) - DAY_MS);
    const checked = server.ingest.check({ keptDays: 30 });
    checked.add({ value: old });
    checked.add({ value: { ...old, id: "now", at: Date.now() - 29 * DAY_MS } });
    checked.add({
      value: { id: "h", at: old!.at, harness: HARNESS, type: "harness", status: "hello", name: "h" },
    });
    expect(checked.events.map(({ id }) => id)).toEqual(["now", "h"]);
    expect(checked.rejected).toMatchObject([{ index: 0, code: "past_retention", path: "at" }]);
    expect(checked.rejected[0]!.message).toContain("keeps sessions for 30 days");
    await server.close();
  });

  it("refuses settings under which rollups would go before their sessions", async () => {
    for (const days of [
      { session_days: null, rollup_days: 10 },
      { session_days: 30, rollup_days: 29 },
    ])
      await expect(retention.set(1, days, ACTOR)).rejects.toMatchObject({ code: "bad_request" });
    const before = await retention.read(1);
    expect(before).toMatchObject({ session_days: null, rollup_days: null, horizon: null });
    expect(before.disk.turns).toBeGreaterThan(0);
  });
});

describe("what retention cuts", () => {
  const days = fc.integer({ min: 1, max: 5_000 });
  const now = fc.integer({ min: Date.UTC(2020, 0), max: Date.UTC(2100, 0) });

  it("no event that is accepted is older than a session that may be removed", () => {
    fc.assert(
      fc.property(now, days, fc.integer({ min: 0, max: 3_500_000 }), (at, kept, waitedMs) => {
        const cut = sessionCut(at + waitedMs, kept);
        expect(cut % SLOT_MS).toBe(0);
        expect(cut).toBeLessThanOrEqual(eventCut(at, kept));
      }),
    );
  });

  it("no rollup of a session that is left is removed", () => {
    fc.assert(
      fc.property(now, days, now, (at, kept, firstAt) => {
        const cut = rollupCut(at, kept, firstAt);
        expect(cut % DAY_MS).toBe(0);
        expect(cut).toBeLessThanOrEqual(firstAt);
        expect(cut).toBeLessThanOrEqual(at - kept * DAY_MS);
        expect(rollupCut(at, kept, undefined)).toBeGreaterThanOrEqual(cut);
      }),
    );
  });
});
