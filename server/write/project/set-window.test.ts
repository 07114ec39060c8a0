import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { PrismaClient } from "../../db/client.ts";
import { dumpTables, emptyTables } from "../../testing/dump.ts";
import { type TestIngest, type TestPipeline, testIngest } from "../../testing/ingest.ts";
import { storedRollups, sumsOfTurns } from "../../testing/rollup-sums.ts";
import { countTurnsBy } from "../../testing/turns.ts";
import { until } from "../../testing/until.ts";
import { upkeepDone } from "../../testing/upkeep.ts";

const HOUR = Date.UTC(2026, 10, 20, 10);

let path: TestIngest;
let prisma: PrismaClient;

beforeAll(async () => {
  path = await testIngest();
  prisma = path.prisma;
});
afterAll(() => path.close());

const turn = (n: number, { agent = "main", tokens = 1_000 + n } = {}) => ({
  id: `t${n}`,
  type: "turn",
  harness: "h",
  session: "s",
  agent,
  at: HOUR + n * 1_000,
  model: "model-x",
  usage: { input_tokens: tokens, output_tokens: 10 },
});
const range = (from: number, to: number) => Array.from({ length: to - from }, (_, n) => from + n);

const setWindow = (server: TestPipeline, tokens: number) =>
  server.ingest.command(1, { type: "set_window", model: "model-x", tokens });

describe("late events and a new window size", () => {
  it("are read with it, and counted once", async () => {
    await emptyTables(prisma);
    const server = await path.start();
    await setWindow(server, 10_000);
    await server.send(...range(0, 100).map((n) => turn(n)));
    // Late twice: from now on the latest turns stay in memory.
    await server.send(...range(110, 120).map((n) => turn(n)));
    await server.send(...range(100, 105).map((n) => turn(n)));
    await server.send(...[...range(105, 108), ...range(120, 125)].map((n) => turn(n)));
    await setWindow(server, 20_000);
    await upkeepDone(prisma);
    await server.send(...[...range(108, 110), ...range(125, 130)].map((n) => turn(n)));
    expect(await countTurnsBy(prisma, "windowTokens")).toEqual(new Map([[20_000, 130]]));
    expect(await storedRollups(prisma)).toEqual(await sumsOfTurns(prisma));
    await server.close();
  });

  it("remove a window and the ends of segments that are no longer there", async () => {
    await emptyTables(prisma);
    const server = await path.start({ segmentTurns: 4 });
    const mark = (type: string, at: number) => ({
      id: `${type}${at}`,
      type,
      harness: "h",
      session: "s",
      agent: "main",
      at,
    });
    const windows = async () =>
      (await prisma.window.findMany({ orderBy: { index: "asc" } })).map(({ index }) => index);
    const ends = async () => (await prisma.segment.findMany()).map(({ endsAt }) => Number(endsAt));
    await server.send(
      ...range(0, 20).map((n) => turn(n)),
      ...[3.8, 7.8].map((n) => mark("cleared", HOUR + n * 1_000)),
    );
    expect(await windows()).toEqual([0, 1]);
    const cut = HOUR + 11_000;
    expect(await ends()).toContain(cut);
    await server.close();
    // Windows are counted from the one that this turn states. A compaction is never cut from the turn after it.
    const again = await path.start({ segmentTurns: 4 });
    await again.send(
      { ...turn(3), id: "late", at: HOUR + 3_900, window: 7 },
      { ...mark("compacted", cut), trigger: "auto" },
    );
    expect(await windows()).toEqual([0, 7]);
    expect(await ends()).not.toContain(cut);
    await again.close();
  });

  it("give the same database as the events in order with the last size", async () => {
    const event = fc.record({
      agent: fc.constantFrom("main", "explore"),
      tokens: fc.integer({ min: 0, max: 12_000 }),
      rank: fc.integer({ min: 0, max: 40 }),
    });
    const batch = fc.record({
      size: fc.integer({ min: 1, max: 12 }),
      window: fc.option(fc.constantFrom(5_000, 10_000, 40_000)),
      wait: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(event, { minLength: 1, maxLength: 60 }),
        fc.array(batch, { minLength: 60, maxLength: 60 }),
        fc.constantFrom(2, 5, 256),
        async (events, batches, segmentTurns) => {
          const turns = events.map((one, n) => turn(n, one));
          await emptyTables(prisma);
          let server = await path.start();
          await setWindow(server, 20_000);
          await server.send(...turns);
          await upkeepDone(prisma);
          await server.close();
          const expected = await dumpTables(prisma, { counts: false });

          await emptyTables(prisma);
          server = await path.start({ segmentTurns });
          // Each comes up to 40 turns late.
          const arriving = turns
            .map((one, n) => ({ one, rank: n + events[n]!.rank }))
            .sort((a, b) => a.rank - b.rank)
            .map(({ one }) => one);
          for (let next = 0, step = 0; next < arriving.length; step++) {
            const { size, window, wait } = batches[step]!;
            await server.send(...arriving.slice(next, next + size));
            if (window !== null) await setWindow(server, window);
            if (wait) await upkeepDone(prisma);
            next += size;
          }
          await setWindow(server, 20_000);
          await upkeepDone(prisma);
          await server.close();
          expect(await dumpTables(prisma, { counts: false })).toEqual(expected);
        },
      ),
      { numRuns: Number(process.env.FUZZ_RUNS ?? 6), endOnFailure: true },
    );
  }, 600_000);
});

it("an agent whose history cannot be read is set aside, and the others get the new size", async () => {
  await emptyTables(prisma);
  let server = await path.start();
  await setWindow(server, 10_000);
  await server.send(...["broken", "whole"].flatMap((agent) => range(0, 4).map((n) => turn(n, { agent }))));
  await server.close();
  const { id, number } = await prisma.agent.findFirstOrThrow({ where: { name: "broken" } });
  await prisma.$executeRaw`UPDATE turn_blocks SET data = '\\xffffffff'::bytea WHERE agent = ${number}`;
  server = await path.start();
  await setWindow(server, 20_000);
  await until(async () => (await prisma.refold.count({ where: { reason: "failed" } })) === 1);
  await until(async () => (await prisma.refold.count()) === 1);
  expect(await prisma.refold.findFirst()).toMatchObject({ agentId: id, reason: "failed" });
  expect(await prisma.agent.findFirst({ where: { name: "whole" } })).toMatchObject({ currentWindow: 20_000 });
  await server.close();
});
