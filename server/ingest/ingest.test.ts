import { contextTokens, type PlimsollEventInput } from "@plimsoll/protocol";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { PrismaClient } from "../db/client.ts";
import { ALL } from "../store/buckets.ts";
import { crossingOriginCode } from "../store/codes.ts";
import { dumpTables, emptyTables } from "../testing/dump.ts";
import { TEST_WINDOWS, type TestIngest, testIngest } from "../testing/ingest.ts";
import { countTurns, storedTurns } from "../testing/turns.ts";

const HOUR = Date.UTC(2026, 10, 20, 10);

let path: TestIngest;
let prisma: PrismaClient;

beforeAll(async () => {
  path = await testIngest();
  prisma = path.prisma;
  await prisma.modelWindow.createMany({
    data: Object.entries(TEST_WINDOWS).map(([model, tokens]) => ({
      projectId: 1,
      model,
      tokens,
      updatedAt: new Date(),
    })),
  });
});
afterAll(() => path.close());

const base = { harness: "phantom@test", session: "thread-1" } as const;
let serial = 0;
function turn(input: number | undefined, more: Partial<Extract<PlimsollEventInput, { type: "turn" }>> = {}) {
  serial += 1;
  return {
    ...base,
    id: `turn-${serial}`,
    type: "turn" as const,
    at: HOUR + serial * 1_000,
    model: "model-a",
    usage: { input_tokens: input, output_tokens: 10 },
    ...more,
  };
}

async function send(events: unknown[]) {
  const server = await path.start();
  const answer = await server.send(...events);
  await server.close();
  return answer;
}

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

/** Histories with ties, repeats, several agents, boundaries, reports and missing counts. */
const eventArb = fc
  .record({
    n: fc.integer({ min: 0, max: 60 }),
    kind: fc.constantFrom(
      "turn",
      "turn",
      "turn",
      "turn",
      "turn",
      "masked",
      "compacted",
      "restarted",
      "crossed",
      "session",
    ),
    agent: fc.constantFrom("main", "main", "scout"),
    session: fc.constantFrom("s1", "s1", "s2"),
    // Often the same level, so that reports find one, and find another one when a late turn has it too.
    tokens: fc.option(fc.oneof(fc.integer({ min: 0, max: 14_000 }), fc.constantFrom(1_600, 8_000)), {
      nil: undefined,
      freq: 8,
    }),
    cache: fc.option(fc.integer({ min: 0, max: 9_000 }), { nil: undefined }),
    output: fc.integer({ min: 0, max: 50 }),
    model: fc.constantFrom("model-a", "model-a", "model-b", "model-c"),
    limit: fc.option(fc.constantFrom(8_000, 32_768), { nil: undefined, freq: 4 }),
    compaction: fc.boolean(),
  })
  .map(({ n, kind, agent, session, tokens, cache, output, model, limit, compaction }) => {
    // Some events fall on the very same millisecond.
    const at = HOUR + Math.floor(n / 2) * 30_000;
    const envelope = { id: `${kind}-${n}`, at, harness: "h", session, agent };
    switch (kind) {
      case "masked":
        return { ...envelope, type: "masked", observations: 2 };
      case "compacted":
        return { ...envelope, type: "compacted", trigger: "auto", tokens_before: 9_000, tokens_after: 1_000 };
      case "restarted":
        return {
          ...envelope,
          type: "restarted",
          number: n,
          previous_turns: 3,
          carryover_turns: 1,
          reason: "full",
        };
      case "crossed":
        return {
          ...envelope,
          type: "threshold_crossed",
          threshold: "warning",
          direction: compaction ? "down" : "up",
          threshold_tokens: 1_500,
          context_tokens: tokens ?? 1_600,
        };
      case "session":
        return {
          ...envelope,
          type: "session",
          status: n % 2 === 0 ? "started" : "ended",
          title: `title ${n}`,
        };
      default:
        return {
          ...envelope,
          type: "turn",
          model,
          usage: { input_tokens: tokens, cache_read_tokens: cache, output_tokens: output },
          ...(limit === undefined ? {} : { context_window: limit }),
          ...(compaction && n % 7 === 0 ? { purpose: "compaction" } : {}),
        };
    }
  });

/** Marks with the same id must say the same; turns may repeat with other counts. */
function distinctMarks<T extends { id: string; type: string; agent: string; session: string }>(
  events: T[],
): T[] {
  const seen = new Set<string>();
  return events.filter((event) => {
    const key = `${event.session}/${event.agent}/${event.id}`;
    if (event.type === "turn" || !seen.has(key)) {
      seen.add(key);
      return true;
    }
    return false;
  });
}

/** Each run empties the database, so looking for a smaller failure would take longer than the test may. */
const PARAMETERS = { numRuns: Number(process.env.PLIMSOLL_PROPERTY_RUNS ?? 20), endOnFailure: true };

describe("order, repetition and batching", () => {
  it("give the same database", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(eventArb, { minLength: 1, maxLength: 40 }).map(distinctMarks),
        fc.array(fc.integer({ min: 0, max: 1e6 }), { minLength: 80, maxLength: 80 }),
        fc.integer({ min: 1, max: 9 }),
        fc.integer({ min: 1, max: 9 }),
        fc.constantFrom(2, 3, 5, 256),
        async (events, shuffle, size, restarted, segmentTurns) => {
          await emptyTables(prisma);
          await send([...events].sort((a, b) => a.at - b.at));
          const expected = await dumpTables(prisma, { counts: false });

          await emptyTables(prisma);
          const again = [...events, ...events.filter((_, index) => shuffle[index]! % 3 === 0)]
            .map((event, index) => ({ event, rank: shuffle[index % shuffle.length]! + index / 1_000 }))
            .sort((a, b) => a.rank - b.rank)
            .map(({ event }) => event);
          let server = await path.start({ segmentTurns });
          for (let start = 0; start < again.length; start += size) {
            await server.send(...again.slice(start, start + size));
            // A new process remembers nothing.
            if ((start / size) % restarted === 0) {
              await server.close();
              server = await path.start({ segmentTurns });
            }
          }
          await server.close();
          expect(await dumpTables(prisma, { counts: false })).toEqual(expected);
        },
      ),
      PARAMETERS,
    );
  }, 600_000);

  it("move a report to a late turn from a level of an earlier segment", async () => {
    const at = (second: number) => HOUR + second * 1_000;
    const report = {
      ...base,
      id: "report",
      type: "threshold_crossed",
      at: at(4),
      threshold: "hard",
      direction: "up",
      threshold_tokens: 9_000,
      context_tokens: 9_100,
    };
    const inOrder = [
      turn(9_100, { id: "a", at: at(1) }),
      turn(9_200, { id: "b", at: at(2) }),
      report,
      ...[5, 6, 7, 8].map((second) => turn(9_300, { id: `t${second}`, at: at(second) })),
    ];
    const late = turn(9_100, { id: "late", at: at(3) });
    await emptyTables(prisma);
    await send([...inOrder, late]);
    const expected = await dumpTables(prisma, { counts: false });
    await emptyTables(prisma);
    const server = await path.start({ segmentTurns: 2 });
    for (const event of inOrder) await server.send(event);
    const origins = () =>
      prisma.crossing.findMany({
        where: { threshold: "hard" },
        select: { origin: true },
        orderBy: { at: "asc" },
      });
    expect(await origins()).toEqual([{ origin: crossingOriginCode("both") }]);
    await server.send(late);
    await server.close();
    expect((await origins())[0]).toEqual({ origin: crossingOriginCode("derived") });
    expect(await dumpTables(prisma, { counts: false })).toEqual(expected);
  });

  it("of several servers at once give it too, whatever each of them remembers", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(eventArb, { minLength: 1, maxLength: 60 }).map(distinctMarks),
        fc.array(fc.record({ server: fc.nat(2), size: fc.integer({ min: 1, max: 6 }), wait: fc.boolean() }), {
          minLength: 60,
          maxLength: 60,
        }),
        async (events, steps) => {
          const sorted = [...events].sort((a, b) => a.at - b.at);
          await emptyTables(prisma);
          await send(sorted);
          const expected = await dumpTables(prisma, { counts: false });

          await emptyTables(prisma);
          const servers = await Promise.all([2, 2, 2].map((segmentTurns) => path.start({ segmentTurns })));
          const under: Promise<unknown>[] = [];
          for (let next = 0, step = 0; next < sorted.length; step++) {
            const { server, size, wait } = steps[step]!;
            under.push(servers[server]!.send(...sorted.slice(next, next + size)));
            if (wait) await Promise.all(under.splice(0));
            next += size;
          }
          await Promise.all(under);
          await Promise.all(servers.map((server) => server.close()));
          expect(await dumpTables(prisma, { counts: false })).toEqual(expected);
        },
      ),
      PARAMETERS,
    );
  }, 600_000);

  it("hold for context tokens too: SQL and the protocol agree", async () => {
    await emptyTables(prisma);
    await send([turn(3, { usage: { input_tokens: 3, cache_read_tokens: 800, cache_write_tokens: 40 } })]);
    const [row] = await storedTurns(prisma);
    expect(row?.contextTokens).toBe(
      contextTokens({
        input_tokens: 3,
        cache_read_tokens: 800,
        cache_write_tokens: 40,
        output_tokens: undefined,
        reasoning_tokens: undefined,
      }),
    );
  });
});
