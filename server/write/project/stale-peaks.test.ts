import { pino } from "pino";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { PrismaClient } from "../../db/client.ts";
import { openWriters, type Writers } from "../../db/sql.ts";
import { packBlock, turnBlocks } from "../../db/tables/turn-blocks.ts";
import type { TurnRow } from "../../db/tables/turns.ts";
import { emptyTables } from "../../testing/dump.ts";
import { setTestWindows, type TestIngest, testIngest } from "../../testing/ingest.ts";
import { storedRollups, sumsOfTurns } from "../../testing/rollup-sums.ts";
import { sqlOfClient } from "../../testing/sql.ts";
import { storedTurns } from "../../testing/turns.ts";
import { refreshStalePeaks, spansOf } from "./stale-peaks.ts";

const START = Date.UTC(2026, 10, 20, 10);
const MINUTE = 60_000;

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

interface Sent {
  minute: number;
  tokens: number;
  harness?: string;
  model?: string;
  purpose?: string;
}

/** Stores a turn each, and stops the server, so that nothing else reads the peaks again. */
async function store(...turns: Sent[]): Promise<void> {
  const server = await path.start();
  await server.send(
    ...turns.map(({ minute, tokens, harness = "h-0", model = "model-a", purpose }, n) => ({
      type: "turn",
      id: `t-${n}`,
      session: `s-${harness}`,
      at: START + minute * MINUTE + n,
      usage: { input_tokens: tokens },
      harness,
      model,
      ...(purpose && { purpose }),
    })),
  );
  await server.close();
}

/** Makes every peak too high. `minutes` limits which minutes are marked as stale. */
async function raisePeaks(minutes?: readonly number[]): Promise<void> {
  const which = minutes?.map((minute) => new Date(START + minute * MINUTE));
  await prisma.$executeRaw`UPDATE rollups SET stale = true, peak_tokens = 99999, peak_utilization = 9
    WHERE grain > 1 OR bucket = ANY(COALESCE(${which ?? null}::timestamptz[], ARRAY[bucket]))`;
}

const step = () => writers.transaction((sql) => refreshStalePeaks(sql, 1));

async function expectExact(): Promise<void> {
  expect(await storedRollups(prisma)).toEqual(await sumsOfTurns(prisma));
  expect(await prisma.rollup.count({ where: { stale: true } })).toBe(0);
}

describe("stale peaks", () => {
  it("fall when a correction lowers the level", async () => {
    const server = await path.start();
    const turn = { type: "turn", harness: "h-0", session: "s", model: "model-a", at: START };
    const sent = (id: string, input_tokens: number, estimated: boolean) =>
      server.send({ ...turn, id, estimated, usage: { input_tokens } });
    await sent("t", 9_000, true);
    await sent("u", 400, false);
    await sent("t", 300, false);
    await expect.poll(() => prisma.rollup.count({ where: { stale: true } })).toBe(0);
    expect(await prisma.rollup.groupBy({ by: ["peakTokens"], _count: true })).toEqual([
      { peakTokens: 400, _count: 8 },
    ]);
    await expectExact();
    await server.close();
  });

  it("are read for each minute, harness and model, and not from compaction calls", async () => {
    await store(
      { minute: 0, tokens: 100 },
      { minute: 0, tokens: 700 },
      { minute: 0, tokens: 9_000, purpose: "compaction" },
      { minute: 0, tokens: 5_000, model: "model-b" },
      { minute: 0, tokens: 300, model: "nobody-knows" },
      { minute: 0, tokens: 600, harness: "h-1" },
      { minute: 1, tokens: 200 },
      { minute: 4, tokens: 800, harness: "h-1", model: "model-b" },
      { minute: 5, tokens: 8_000, purpose: "compaction" },
    );
    await raisePeaks();
    expect(await step()).toBe(4);
    await expectExact();
    expect(await step()).toBe(0);
  });

  it("are read far apart without the turns in between", async () => {
    await store({ minute: 0, tokens: 100 }, { minute: 60, tokens: 50 }, { minute: 120, tokens: 200 });
    await addSmallBlocks(3_000, (n) => START + (1 + (n % 110)) * MINUTE + 30_000);
    await raisePeaks([0, 120]);
    expect(await step()).toBe(2);
    const rows = await prisma.rollup.findMany({
      where: { grain: 1, harness: "" },
      orderBy: { bucket: "asc" },
    });
    expect(rows.map(({ peakTokens }) => peakTokens)).toEqual([100, 50, 200]);
  });

  it("are read in steps of some minutes if their turns are many", async () => {
    await store(...Array.from({ length: 10 }, (_, minute) => ({ minute, tokens: 100 + minute })));
    await addSmallBlocks(3_000, (n) => START + (n % 10) * MINUTE + 30_000);
    await raisePeaks();
    expect([await step(), await step(), await step()]).toEqual([5, 5, 0]);
    const rows = await prisma.rollup.findMany({
      where: { grain: 1, harness: "h-0" },
      orderBy: { bucket: "asc" },
    });
    expect(rows.map(({ peakTokens }) => peakTokens)).toEqual([
      3_990, 3_991, 3_992, 3_993, 3_994, 3_995, 3_996, 3_997, 3_998, 3_999,
    ]);
    const longer = await prisma.rollup.findMany({ where: { grain: { gt: 1 } } });
    expect(new Set(longer.map(({ peakTokens }) => peakTokens))).toEqual(new Set([3_999]));
  });
});

/** Gives the only agent blocks of a turn each, with levels from 1,000 up. */
async function addSmallBlocks(count: number, at: (n: number) => number): Promise<void> {
  const [turn] = await storedTurns(prisma);
  const { projectId, ...first } = turn!;
  const rows = Array.from(
    { length: count },
    (_, n): TurnRow => ({ ...first, key: String(n), at: at(n), contextTokens: 1_000 + n }),
  );
  const blocks = rows.map((row) =>
    packBlock({ agent: row.agent, firstAt: row.at, firstKey: row.key, rows: [row] }),
  );
  const { text, values } = turnBlocks.insert(projectId, blocks);
  await sqlOfClient(prisma).execute(text, ...values);
}

describe("spansOf", () => {
  it.each([
    ["nothing", [], []],
    ["one minute", [3], [[3]]],
    ["minutes up to five apart", [0, 1, 6, 11], [[0, 1, 6, 11]]],
    ["minutes farther apart", [0, 6, 7, 60], [[0], [6, 7], [60]]],
  ])("joins %s", (_, minutes, spans) => {
    expect(spansOf(minutes.map((minute) => minute * MINUTE))).toEqual(
      spans.map((span) => span.map((minute) => minute * MINUTE)),
    );
  });
});
