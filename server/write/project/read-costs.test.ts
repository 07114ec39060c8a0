import { pino } from "pino";
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import type { PrismaClient } from "../../db/client.ts";
import { dumpTables, emptyTables } from "../../testing/dump.ts";
import { type TestIngest, type TestPipeline, testIngest } from "../../testing/ingest.ts";
import type { RecordedStatement } from "../../testing/record-statements.ts";
import { storedRollups, sumsOfTurns } from "../../testing/rollup-sums.ts";
import { countTurns, countTurnsBy } from "../../testing/turns.ts";
import { upkeepDone } from "../../testing/upkeep.ts";

const recorded = vi.hoisted(() => ({ statements: [] as RecordedStatement[] }));

vi.mock("../../db/sql.ts", async (original) => {
  const sql = await original<typeof import("../../db/sql.ts")>();
  const { recordWriters } = await import("../../testing/record-statements.ts");
  return {
    ...sql,
    openWriters: (options: Parameters<typeof sql.openWriters>[0]) =>
      recordWriters(sql.openWriters(options), (statement) => void recorded.statements.push(statement)),
  };
});

const HOUR = Date.UTC(2026, 10, 20, 10);

let path: TestIngest;
let prisma: PrismaClient;
let server: TestPipeline;

beforeAll(async () => {
  path = await testIngest({ log: pino({ level: "silent" }) });
  prisma = path.prisma;
});
afterAll(() => path.close());
beforeEach(async () => {
  await emptyTables(prisma);
  await prisma.modelWindow.deleteMany();
});

/** Statements that read what is stored of turns, and the rows they returned, while `work` runs. */
async function readsOf(work: () => Promise<unknown>) {
  recorded.statements.length = 0;
  await work();
  const reads = recorded.statements.filter(({ text }) => /^\s*(SELECT|WITH found)/.test(text));
  const from = (table: string) => reads.filter(({ text }) => new RegExp(`\\b${table} t\\b`).test(text));
  const rows = (statements: RecordedStatement[]) => statements.reduce((sum, one) => sum + one.rows, 0);
  return {
    turnStatements: from("turn_blocks").length,
    blocks: rows(from("turn_blocks")),
    segments: from("segments").length,
    markStatements: from("boundaries").length,
    byRange: from("turn_blocks").filter(({ text }) => text.includes("t.first_at >")).length,
    statements: recorded.statements.length,
  };
}

interface TurnOptions {
  at?: number;
  model?: string;
  session?: string;
  id?: string;
  size?: number;
  seq?: number;
}

const turn = (
  n: number,
  { at = HOUR + n * 1_000, model = "model-x", session = "s", id, size, seq }: TurnOptions = {},
) => ({
  id: id ?? `t${n}`,
  type: "turn",
  harness: "h",
  session,
  at,
  model,
  usage: { input_tokens: 1_000 + (n % 500), output_tokens: 10 },
  ...(size === undefined ? {} : { context_window: size }),
  ...(seq === undefined ? {} : { seq }),
});
const report = (n: number, tokens: number) => ({
  id: `r${n}`,
  type: "threshold_crossed",
  harness: "h",
  session: "s",
  at: HOUR + n * 1_000 + 1,
  threshold: n % 2 === 0 ? "warning" : "budget",
  direction: n % 4 < 2 ? "up" : "down",
  threshold_tokens: 1_500,
  context_tokens: tokens,
});

async function sendAll(events: unknown[], size = 5_000): Promise<void> {
  for (let start = 0; start < events.length; start += size)
    await server.send(...events.slice(start, start + size));
}

const range = (from: number, to: number) => Array.from({ length: to - from }, (_, n) => from + n);

/** Blocks of turns that the database has read so far. Connections report when they close. */
async function blocksRead(): Promise<number> {
  await server.close();
  const [row] = await prisma.$queryRawUnsafe<{ rows: number }[]>(
    "SELECT (seq_tup_read + COALESCE(idx_tup_fetch, 0))::float8 AS rows FROM pg_stat_user_tables WHERE relname = 'turn_blocks'",
  );
  return row!.rows;
}

describe("an agent with a long history", () => {
  it("is not read again for reported crossings", async () => {
    server = await path.start();
    await sendAll(range(0, 4_000).map((n) => turn(n)));
    const cost = await readsOf(async () => {
      for (const n of range(4_000, 4_100)) await server.send(turn(n), report(n, 1_000 + (n % 500)));
    });
    expect(cost).toMatchObject({ turnStatements: 0, blocks: 0, segments: 0 });
    expect(await prisma.crossing.count({ where: { origin: { not: 0 } } })).toBeGreaterThan(20);
    await server.close();
  });

  it("is read back to the last cut for a late event, however long it is, and not again for the next one", async () => {
    server = await path.start();
    await sendAll(range(0, 2_000).map((n) => turn(n)));
    const short = await readsOf(() => server.send(turn(9_001, { at: HOUR + 1_950_500 })));
    expect(short).toMatchObject({ turnStatements: 1, segments: 2 });
    expect(short.blocks).toBeLessThanOrEqual(2);
    await sendAll(range(2_000, 8_000).map((n) => turn(n)));
    const again = await readsOf(() => server.send(turn(9_002, { at: HOUR + 7_950_500 })));
    expect(again).toMatchObject({ turnStatements: 0, segments: 0 });
    await server.close();
    // A new process remembers nothing.
    server = await path.start();
    await server.send(turn(8_000));
    const long = await readsOf(() => server.send(turn(9_003, { at: HOUR + 7_950_600 })));
    expect(long.turnStatements).toBe(1);
    expect(long.blocks).toBeLessThanOrEqual(2);
    await server.close();
  });

  it("is not read for the second report of each call, and not for a single source", async () => {
    const line = (n: number) => ({
      ...turn(n),
      id: `line-${n}`,
      witness: "transcript",
      at: HOUR + n * 1_000 + 30,
    });
    const span = (n: number) => ({ ...turn(n), witness: "otlp" });
    server = await path.start();
    await sendAll(range(0, 2_000).map(span));
    const alone = await readsOf(async () => {
      for (const n of range(2_000, 2_050)) await server.send(span(n));
    });
    expect(alone).toMatchObject({ turnStatements: 0, segments: 0 });
    for (const n of range(2_050, 2_060))
      await server.send(span(n), ...(n % 5 === 4 ? range(n - 4, n + 1).map(line) : []));
    const both = await readsOf(async () => {
      for (const n of range(2_060, 2_200))
        await server.send(span(n), ...(n % 5 === 4 ? range(n - 4, n + 1).map(line) : []));
    });
    expect(both).toMatchObject({ turnStatements: 0, segments: 0 });
    await server.close();
    expect(await prisma.agent.findFirst()).toMatchObject({ turns: 2_200 });
  });

  it("is read up to the first unchanged cut for an event that is hours late", async () => {
    server = await path.start();
    await sendAll(range(0, 8_000).map((n) => turn(n)));
    const cost = await readsOf(() => server.send(turn(9_001, { at: HOUR + 1_000_500 })));
    expect(cost.blocks).toBeLessThanOrEqual(4);
    await server.close();
    expect(await countTurns(prisma)).toBe(8_001);
  });

  it("is not read while its turns and marks are some hundred turns late again and again", async () => {
    server = await path.start();
    await sendAll(range(0, 2_000).map((n) => turn(n)));
    const sent = new Map<string, object>(range(0, 2_000).map((n) => [`t${n}`, turn(n)]));
    const round = (n: number) => {
      const last = 2_000 + n * 120;
      // Every second turn comes 300 turns after the others.
      const late = range(last - 360, last - 240).filter((m) => m % 2 === 1 && m > 2_000);
      const punctual = range(last - 120, last).filter((m) => m % 2 === 0);
      const masked = { ...report(last - 290, 1_000), type: "masked", observations: 1 };
      const events = [...[...late, ...punctual].map((m) => turn(m)), masked];
      for (const event of events) sent.set(event.id, event);
      return server.send(...events);
    };
    for (const n of range(1, 8)) await round(n);
    const cost = await readsOf(async () => {
      for (const n of range(8, 40)) await round(n);
    });
    expect(cost).toMatchObject({ turnStatements: 0, segments: 0, markStatements: 0 });
    expect(await countTurns(prisma)).toBeGreaterThan(5_000);
    const inRounds = await dumpTables(prisma);
    await server.close();
    await emptyTables(prisma);
    server = await path.start();
    await sendAll([...sent.values()], 10_000);
    expect(await dumpTables(prisma)).toEqual(inRounds);
    await server.close();
  });

  it("with and without sequence numbers is extended without a read", async () => {
    server = await path.start();
    await sendAll(range(0, 1_000).map((n) => turn(n, { seq: n })));
    const cost = await readsOf(async () => {
      for (const n of range(1_000, 1_200)) await server.send(turn(n, n % 100 === 50 ? {} : { seq: n }));
    });
    expect(cost).toMatchObject({ turnStatements: 0, segments: 0 });
    await server.close();
  });
});

it("400 known turns of agents with 5,000 turns are found in a few blocks, and change nothing", async () => {
  server = await path.start();
  const sessions = ["a", "b"];
  for (const session of sessions) await sendAll(range(0, 5_000).map((n) => turn(n, { session })));
  await server.close();
  // A new process remembers nothing.
  server = await path.start();
  const again = sessions.flatMap((session) => range(2_000, 2_200).map((n) => turn(n, { session })));
  let answer: unknown;
  const cost = await readsOf(async () => {
    answer = await server.send(...again);
  });
  expect(answer).toEqual({ accepted: 0, duplicates: 400, rejected: [] });
  expect(cost).toMatchObject({ turnStatements: 1, byRange: 0, segments: 0 });
  expect(cost.blocks).toBeLessThanOrEqual(4);
  await server.close();
});

describe("60,000 turns of one harness", () => {
  const agents = 30;
  const turns = range(0, 60_000).map((n) =>
    turn(Math.floor(n / agents), { session: `s${n % agents}`, id: `t${n}`, at: HOUR + n * 500 }),
  );

  it("take a later, larger window size and a new setting without a quadratic read, and reads answer meanwhile", async () => {
    server = await path.start();
    await server.ingest.command(1, { type: "set_window", model: "model-x", tokens: 200_000 });
    await sendAll(turns);
    const before = await blocksRead();
    // Autovacuum does this within a minute; without statistics the planner prefers to scan the whole project.
    await prisma.$executeRawUnsafe("ANALYZE");
    server = await path.start();

    await server.send(turn(0, { session: "s0", id: "late", at: HOUR + 1, size: 1_000_000 }));
    await server.ingest.command(1, { type: "set_window", model: "model-x", tokens: 1_000_000 });
    let reads = 0;
    const done = upkeepDone(prisma).then(() => true);
    while (!(await Promise.race([done, new Promise<false>((resolve) => setTimeout(resolve, 50, false))]))) {
      const started = performance.now();
      expect(await server.freshness.wait(1)).toEqual({ events: 0, ms: 0 });
      expect(performance.now() - started).toBeLessThan(5_000);
      reads += 1;
    }
    expect(reads).toBeGreaterThan(0);
    // 60,000 turns are 250 blocks. Read once for each of the 500 minutes they would be 125,000.
    expect((await blocksRead()) - before).toBeLessThan(10_000);
    expect(await countTurnsBy(prisma, "windowTokens")).toEqual(new Map([[1_000_000, 60_001]]));
    expect(await storedRollups(prisma)).toEqual(await sumsOfTurns(prisma));
  });
});
