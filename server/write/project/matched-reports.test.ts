import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { PrismaClient } from "../../db/client.ts";
import { anyDelivery, deliver } from "../../testing/any-delivery.ts";
import { dumpTables, emptyTables } from "../../testing/dump.ts";
import { setTestWindows, type TestIngest, testIngest } from "../../testing/ingest.ts";
import { base, HOUR } from "../../testing/thread-turns.ts";

let path: TestIngest;
let prisma: PrismaClient;

beforeAll(async () => {
  path = await testIngest();
  prisma = path.prisma;
  await setTestWindows(prisma);
});
afterAll(() => path.close());

const SOURCES = ["otlp", "hook", "transcript", "acp"] as const;
type Source = (typeof SOURCES)[number] | "harness";

/** What each witness adds to a call, and how far its clock is off, in ms. */
const SAYS = {
  otlp: { cost_usd: 0.25, outcome: { calls: 1, failed: 1 } },
  hook: { context_window: 20_000 },
  transcript: {
    context_window: 10_000,
    composition: { system: 10 },
    composition_estimated: true,
    outcome: { calls: 2, failed: 0, repeated: 1 },
  },
  acp: { context_window: 20_000 },
} as const;

/** A client of the Agent Client Protocol sees a level alone, here that of the prompt with the answer. */
function usageOf(witness: Source, level: number, output: number | undefined) {
  const tokens = level * 2_500;
  if (witness === "acp") return { input_tokens: tokens + (output ?? 0) };
  return { input_tokens: tokens, ...(output !== undefined && { output_tokens: output }) };
}

/** Calls of few levels, some of them seconds apart, as the witnesses that saw them report them. */
const events = fc
  .record({
    calls: fc.array(
      fc.record({
        level: fc.integer({ min: 1, max: 3 }),
        pause: fc.constantFrom(500, 2_000, 9_000, 30_000),
        seen: fc.subarray<Source>([...SOURCES, "harness"], { minLength: 1 }),
        sameId: fc.integer({ min: 0, max: 5 }).map((dice) => dice === 0),
        output: fc.option(fc.constantFrom(5, 9), { nil: undefined }),
        took: fc.constantFrom(900, 900, 45_000),
      }),
      { minLength: 1, maxLength: 14 },
    ),
    skew: fc.record({
      otlp: fc.constant(0),
      hook: fc.constantFrom(0, 40),
      transcript: fc.constantFrom(0, -3_000, 700),
      acp: fc.constantFrom(0, -200, 3_000),
      harness: fc.constant(0),
    }),
    marks: fc.array(
      fc.record({
        after: fc.integer({ min: 0, max: 13 }),
        type: fc.constantFrom("compacted" as const, "cleared" as const),
      }),
      { maxLength: 2 },
    ),
  })
  .map(({ calls, skew, marks }) => {
    const times: number[] = [];
    for (const { pause } of calls) times.push((times.at(-1) ?? HOUR) + pause);
    const turns = calls.flatMap(({ level, seen, sameId, output, took }, index) =>
      seen.map((witness) => ({
        ...base,
        type: "turn" as const,
        id: sameId ? `call-${index}` : `${witness}-${index}`,
        // A recording has the time of the first line of an answer, telemetry that of its end.
        at: times[index]! + skew[witness] - (witness === "transcript" ? took - 900 : 0),
        model: "model-a",
        usage: usageOf(witness, level, output),
        witness,
        ...(witness !== "harness" && SAYS[witness]),
        ...(witness === "otlp" && { duration_ms: took }),
      })),
    );
    const boundaries = marks.map(({ after, type }, index) => ({
      ...base,
      type,
      id: `mark-${index}`,
      at: (times[after] ?? HOUR) + 250,
      ...(type === "compacted" && { trigger: "auto" as const }),
    }));
    return [...turns, ...boundaries];
  });

describe("several witnesses of one session that name calls differently", () => {
  it("give the same database in any interleaving, batching and repetition", async () => {
    await fc.assert(
      fc.asyncProperty(
        events,
        anyDelivery(2, 3, 256),
        fc.constantFrom("shuffled" as const, "by_source" as const, "by_time" as const),
        async (reports, delivery, order) => {
          await emptyTables(prisma);
          await path.sendOnce(reports);
          const expected = await dumpTables(prisma);

          await emptyTables(prisma);
          await deliver(path, reports, delivery, RANKS[order]);
          expect(await dumpTables(prisma)).toEqual(expected);
        },
      ),
      { numRuns: Number(process.env.FUZZ_RUNS ?? 6), endOnFailure: true },
    );
  }, 600_000);

  it("count its tokens and its cost once, also after the history was cut, and no other agent's", async () => {
    await emptyTables(prisma);
    const turns = [1_000, 2_000, 3_000, 4_000].map((input_tokens, index) => ({
      ...base,
      type: "turn" as const,
      at: HOUR + index * 20_000,
      model: "model-a",
      usage: { input_tokens, output_tokens: 10 },
    }));
    const telemetry = turns.map((turn, index) => ({
      ...turn,
      id: `span-${index}`,
      witness: "otlp" as const,
      cost_usd: 0.5,
    }));
    const lines = turns.map((turn, index) => ({
      ...turn,
      id: `line-${index}`,
      witness: "transcript" as const,
      at: turn.at + 200,
      context_window: 20_000,
    }));
    const ofSubAgent = { ...lines[3]!, agent: "scout", parent_agent: "main" };
    const server = await path.start({ segmentTurns: 2 });
    for (const event of telemetry) await server.send(event);
    await server.close();
    const restarted = await path.start({ segmentTurns: 2 });
    for (const event of [ofSubAgent, ...lines.toReversed()]) await restarted.send(event);
    await restarted.close();

    const agents = await prisma.agent.findMany({ orderBy: { name: "asc" } });
    expect(agents).toMatchObject([
      { name: "main", turns: 4, currentTokens: 4_000, currentWindow: 20_000, unexplained: 0 },
      { name: "scout", turns: 1 },
    ]);
    const [all] = await prisma.rollup.findMany({ where: { grain: 360, model: "" } });
    expect(all).toMatchObject({ turns: 5 });
    expect([all!.output, all!.costMicros].map(Number)).toEqual([50, 2_000_000]);
    const counts = await prisma.ingestCount.findMany({ orderBy: { outcome: "asc" } });
    expect(counts.map(({ outcome, count }) => [outcome, Number(count)])).toEqual([
      ["turn", 5],
      ["turn_repeated", 4],
    ]);
  });

  it("are two calls again once a report contradicts, and no count of received events goes down", async () => {
    await emptyTables(prisma);
    const call = { ...base, type: "turn" as const, at: HOUR, model: "model-a" };
    const telemetry = {
      ...call,
      id: "span",
      witness: "otlp",
      usage: { input_tokens: 900, output_tokens: 7 },
    };
    const line = { ...call, id: "line", witness: "transcript", usage: { input_tokens: 900 } };
    const received: number[] = [];
    const server = await path.start({
      projected: ({ counts }) => void received.push(...counts.values()),
    });
    await server.send(telemetry);
    await server.send(line);
    expect(await prisma.agent.findFirst()).toMatchObject({ turns: 1 });
    await server.send({ ...line, usage: { input_tokens: 900, output_tokens: 8 } });
    await server.close();
    expect(await prisma.agent.findFirst()).toMatchObject({ turns: 2 });
    expect(Math.min(...received)).toBe(1);
    const counts = await prisma.ingestCount.findMany({ orderBy: { outcome: "asc" } });
    expect(counts.map(({ outcome, count }) => [outcome, Number(count)])).toEqual([
      ["turn", 2],
      ["turn_merged", 1],
      ["turn_repeated", 0],
    ]);
  });
});

/** Which reports arrive first. */
const RANKS = { shuffled: () => 0, by_source: sourceRank, by_time: ({ at }: { at: number }) => at };

function sourceRank(event: { at: number; witness?: string }): number {
  return ["harness", ...SOURCES].indexOf(event.witness ?? "harness");
}
