import { setTimeout as sleep } from "node:timers/promises";
import { pino } from "pino";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { PrismaClient } from "../db/client.ts";
import { emptyTables } from "../testing/dump.ts";
import { type TestIngest, testIngest } from "../testing/ingest.ts";
import type { Ingest } from "./ingest.ts";
import { ALL } from "./rollup.ts";
import { ROUND, SETTLE_LOCK } from "./settle.ts";

const START = Date.UTC(2026, 10, 20, 10);
const TODAY = new Date(Date.UTC(2026, 10, 21));

let path: TestIngest;
let prisma: PrismaClient;

beforeAll(async () => {
  path = await testIngest(TODAY.getTime());
  prisma = path.prisma;
});
beforeEach(() => emptyTables(prisma));
afterAll(() => path.close());

let serial = 0;
async function send(service: Ingest, session: string): Promise<void> {
  serial += 1;
  const event = {
    id: `t-${serial}`,
    type: "turn",
    at: START + serial * 10,
    harness: `h-${serial % 3}`,
    session,
    model: "model-a",
    usage: { input_tokens: 100, output_tokens: 1 },
  };
  const { accepted } = await service.accept(1, [{ value: event }]);
  expect(accepted).toBe(1);
}

/** Turns by the rollups of each length, of the fleet and of its harnesses, and by the counts. */
async function turnsOfTotals(): Promise<number[]> {
  const [fleet, harnesses, counts] = await Promise.all([
    prisma.rollup.groupBy({ by: "grain", where: { harness: ALL }, _sum: { turns: true } }),
    prisma.rollup.groupBy({ by: "grain", where: { harness: { not: ALL } }, _sum: { turns: true } }),
    prisma.ingestCount.findMany({ where: { outcome: "turn" } }),
  ]);
  return [
    ...[...fleet, ...harnesses].map(({ _sum }) => _sum.turns ?? 0),
    ...counts.map(({ count }) => Number(count)),
  ];
}

const everywhere = (turns: number): number[] => Array.from({ length: 9 }, () => turns);

/** While it holds the lock, nobody settles. */
async function heldUp(work: () => Promise<void>): Promise<void> {
  await prisma.$transaction(
    async (tx) => {
      await tx.$queryRaw`SELECT 1 FROM pg_advisory_xact_lock(${SETTLE_LOCK}::int8)`;
      await work();
    },
    { timeout: 60_000 },
  );
}

describe("settling", () => {
  it("has in the totals what was committed before it was asked, while more is committed", async () => {
    const service = path.start();
    let committed = 0;
    let running = true;
    const senders = ["a", "b", "c"].map(async (session) => {
      while (running) {
        await send(service, session);
        committed += 1;
      }
    });
    for (let round = 0; round < 40; round++) {
      const before = committed;
      await path.totals.settle();
      const turns = await prisma.rollup.aggregate({
        where: { grain: 60, harness: ALL },
        _sum: { turns: true },
      });
      expect(turns._sum.turns ?? 0).toBeGreaterThanOrEqual(before);
    }
    running = false;
    await Promise.all(senders);
    await service.close();
    expect(await turnsOfTotals()).toEqual(everywhere(committed));
  });

  it("counts once what two servers settle at once", async () => {
    const services = [path.start(), path.start()];
    for (let round = 0; round < 20; round++) {
      await Promise.all(services.map((service, index) => send(service, `s-${index}`)));
      const others = [path.newTotals(), path.newTotals()];
      await Promise.all([path.totals, ...others, path.totals].map((totals) => totals.settle()));
      expect(await prisma.pendingTotals.count()).toBe(0);
      expect(await turnsOfTotals()).toEqual(everywhere(2 * (round + 1)));
    }
    await Promise.all(services.map((service) => service.close()));
    expect(await turnsOfTotals()).toEqual(everywhere(40));
  });

  it("finds what another server is about to settle settled", async () => {
    const service = path.start();
    let asked: Promise<void> | undefined;
    await heldUp(async () => {
      await send(service, "s");
      asked = path.totals.settle();
      expect(await turnsOfTotals()).toEqual([]);
    });
    await asked;
    expect(await turnsOfTotals()).toEqual(everywhere(1));
    await service.close();
  });

  it("takes all of what a server left, round by round", async () => {
    const rows = 2 * ROUND + 3;
    const delta = {
      received_at: TODAY.getTime(),
      names: ["turn"],
      sessions: [],
      harnesses: [],
      turns: [],
      boundaries: [],
      counts: [[0, 1]],
    };
    await prisma.pendingTotals.createMany({
      data: Array.from({ length: rows }, () => ({ projectId: 1, delta })),
    });
    await path.totals.settle();
    expect(await prisma.pendingTotals.count()).toBe(0);
    expect(await turnsOfTotals()).toEqual([rows]);
  });

  it("needs nobody who asks", async () => {
    const service = path.start();
    await send(service, "s");
    while ((await prisma.pendingTotals.count()) > 0) await sleep(10);
    expect(await turnsOfTotals()).toEqual(everywhere(1));
    await service.close();
  });

  it("fails for who asks, and is tried again by itself", async () => {
    const said: string[] = [];
    const totals = path.newTotals(pino({ level: "warn" }, { write: (line) => said.push(line) }));
    await prisma.$executeRaw`ALTER TABLE rollups RENAME TO rollups_away`;
    const service = path.start();
    try {
      await send(service, "s");
      await expect(path.totals.settle()).rejects.toThrow("rollups");
      totals.soon();
      while (said.length === 0) await sleep(10);
      expect(await prisma.pendingTotals.count()).toBe(1);
    } finally {
      await prisma.$executeRaw`ALTER TABLE rollups_away RENAME TO rollups`;
    }
    while ((await prisma.pendingTotals.count()) > 0) await sleep(10);
    expect(await turnsOfTotals()).toEqual(everywhere(1));
    await totals.close();
    await service.close();
  });
});
