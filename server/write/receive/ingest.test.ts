import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { PrismaClient } from "../../db/client.ts";
import { ALL } from "../../db/tables/buckets.ts";
import { dumpTables, emptyTables } from "../../testing/dump.ts";
import { setTestWindows, type TestIngest, testIngest } from "../../testing/ingest.ts";
import { base, HOUR, turn } from "../../testing/thread-turns.ts";
import { countTurns, storedTurns } from "../../testing/turns.ts";

let path: TestIngest;
let prisma: PrismaClient;

beforeAll(async () => {
  path = await testIngest();
  prisma = path.prisma;
  await setTestWindows(prisma);
});
afterAll(() => path.close());

const send = (events: unknown[]) => path.sendOnce(events);

describe("writing events", () => {
  it("stores a turn, its agent, its session and its rollups", async () => {
    await emptyTables(prisma);
    const answer = await send([turn(1_600)]);
    expect(answer).toEqual({ accepted: 1, duplicates: 0, rejected: [] });
    const agent = await prisma.agent.findFirstOrThrow();
    expect(agent).toMatchObject({
      name: "main",
      currentTokens: 1_600,
      currentWindow: 10_000,
      peakTokens: 1_600,
    });
    expect(agent.load).toBeCloseTo(0.8);
    const session = await prisma.session.findFirstOrThrow();
    expect(session).toMatchObject({ turns: 1, agents: 1, currentTokens: 1_600, warnings: 1 });
    expect(await prisma.crossing.findMany()).toMatchObject([
      { threshold: "warning", up: true, contextTokens: 1_600 },
    ]);
    for (const [harness, model] of [
      [base.harness, "model-a"],
      [ALL, ALL],
    ]) {
      const rollups = await prisma.rollup.findMany({ where: { harness, model }, orderBy: { grain: "asc" } });
      expect(rollups.map((row) => [row.grain, row.turns, row.peakTokens])).toEqual([
        [1, 1, 1_600],
        [15, 1, 1_600],
        [60, 1, 1_600],
        [360, 1, 1_600],
      ]);
      expect(rollups[0]!.bins).toEqual([0, 0, 0, 0, 0, 0, 1]);
    }
    expect(await prisma.rollup.count()).toBe(8);
  });

  it("takes the same request twice and changes nothing", async () => {
    await emptyTables(prisma);
    const events = [
      turn(1_000),
      turn(2_000),
      { ...base, id: "m1", type: "masked", at: HOUR + 1e7, observations: 3 },
    ];
    expect(await send(events)).toMatchObject({ accepted: 3, duplicates: 0 });
    const before = await dumpTables(prisma);
    expect(await send(events)).toMatchObject({ accepted: 0, duplicates: 3 });
    expect(await dumpTables(prisma)).toEqual(before);
  });

  it("merges a growing turn field by field and counts its tokens once", async () => {
    await emptyTables(prisma);
    const first = turn(3_000, { usage: { input_tokens: 3_000, output_tokens: 5 } });
    expect(await send([first])).toMatchObject({ accepted: 1 });
    expect(
      await send([{ ...first, usage: { input_tokens: 3_000, output_tokens: 90 } }, turn(3_100)]),
    ).toMatchObject({
      accepted: 2,
      duplicates: 0,
    });
    expect(await send([{ ...first, usage: { input_tokens: 1, output_tokens: 20 } }])).toMatchObject({
      duplicates: 1,
    });
    const rollup = await prisma.rollup.findFirstOrThrow({ where: { grain: 60 } });
    expect(rollup).toMatchObject({ turns: 2, output: 100n, fresh: 6_100n });
  });

  it("merges a turn that is sent again with a later time, and counts it once", async () => {
    await emptyTables(prisma);
    const server = await path.start();
    const accept = server.send;
    const first = turn(1_000);
    await accept(first, turn(1_100));
    // It stands after all that the server remembers of the agent, as only a new one should.
    expect(await accept({ ...first, at: HOUR + 9e5 }, turn(1_200, { at: HOUR + 9.1e5 }))).toMatchObject({
      accepted: 1,
      duplicates: 1,
    });
    await server.close();
    expect(await countTurns(prisma)).toBe(3);
    expect(await prisma.agent.findFirstOrThrow()).toMatchObject({ turns: 3, currentTokens: 1_200 });
    expect(await prisma.rollup.findFirstOrThrow({ where: { grain: 360 } })).toMatchObject({ turns: 3 });
  });

  it("refuses one bad event and stores its neighbours", async () => {
    await emptyTables(prisma);
    const answer = await send([
      turn(10),
      { ...turn(10), usage: { input_tokens: "many" } },
      { type: "nonsense" },
      7,
    ]);
    expect(answer.accepted).toBe(1);
    expect(answer.rejected).toMatchObject([
      { index: 1, code: "invalid_field", path: "usage.input_tokens" },
      { index: 2, code: "unknown_type", path: "type" },
      { index: 3, code: "not_an_object" },
    ]);
    const counts = await prisma.ingestCount.findMany({ orderBy: { outcome: "asc" } });
    expect(counts.map((row) => [row.outcome, Number(row.count)])).toEqual([
      ["invalid_field", 1],
      ["not_an_object", 1],
      ["turn", 1],
      ["unknown_type", 1],
    ]);
  });

  it("keeps two agents with the same turn id apart, and a sub-agent off its parent's level", async () => {
    await emptyTables(prisma);
    const parent = turn(5_000, { id: "msg_1" });
    const child = { ...turn(900, { id: "msg_1" }), agent: "researcher", parent_agent: "main" };
    expect(await send([parent, child])).toMatchObject({ accepted: 2 });
    const agents = await prisma.agent.findMany({ orderBy: { name: "asc" } });
    expect(agents.map((agent) => [agent.name, agent.parent, agent.currentTokens])).toEqual([
      ["main", null, 5_000],
      ["researcher", "main", 900],
    ]);
    expect(await prisma.session.findFirstOrThrow()).toMatchObject({
      currentTokens: 5_000,
      agents: 2,
      turns: 2,
    });
  });

  it("shows a turn over 100 % as it is, a missing count as unknown, an unknown window without a share", async () => {
    await emptyTables(prisma);
    await send([turn(25_600)]);
    await send([turn(undefined)]);
    await send([{ ...turn(41_000, { model: "nobody-knows" }), session: "thread-2" }]);
    const [over, unknown] = await prisma.session.findMany({ orderBy: { name: "asc" } });
    expect(over).toMatchObject({ currentTokens: 25_600, currentWindow: 10_000, turns: 2 });
    expect(over!.peakUtilization).toBeCloseTo(2.56);
    expect(unknown).toMatchObject({
      currentTokens: 41_000,
      currentWindow: null,
      load: null,
      peakUtilization: null,
    });
    const missing = (await storedTurns(prisma)).find(({ inputTokens }) => inputTokens === undefined)!;
    expect(missing.contextTokens).toBeUndefined();
  });

  it("rejects an event that is more than five minutes ahead, and takes one that is less", async () => {
    await emptyTables(prisma);
    const answer = await send([
      turn(10, { id: "ahead", at: Date.now() + 6 * 60_000 }),
      turn(10, { at: Date.now() + 4 * 60_000 }),
    ]);
    expect(answer).toMatchObject({
      accepted: 1,
      rejected: [{ id: "ahead", code: "in_the_future", path: "at" }],
    });
  });
});
