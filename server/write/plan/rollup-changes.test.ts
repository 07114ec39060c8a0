import type { TurnFacts, TurnReading } from "@plimsoll/fold";
import fc from "fast-check";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { PrismaClient } from "../../db/client.ts";
import { ALL, GRAINS } from "../../db/tables/buckets.ts";
import { emptyTables } from "../../testing/dump.ts";
import { setTestWindows, type TestIngest, testIngest } from "../../testing/ingest.ts";
import {
  storedBoundaryRollups,
  storedRollups,
  sumsOfBoundaries,
  sumsOfTurns,
} from "../../testing/rollup-sums.ts";
import { upkeepDone } from "../../testing/upkeep.ts";
import { RollupChanges } from "./rollup-changes.ts";

/** A quarter before a border of the longest bucket, so that late events fall on either side of it. */
const START = Date.UTC(2026, 10, 20, 11, 45);
const MINUTE = 60_000;

function reading(tokens: number | undefined, more: Partial<TurnFacts> = {}): TurnReading {
  const turn = {
    key: "1",
    at: START,
    model: "m",
    usage: { input_tokens: tokens, output_tokens: 5 },
    compaction: false,
    ...more,
  } as TurnFacts;
  return {
    turn,
    report: turn,
    isRepeat: false,
    window: 0,
    contextTokens: tokens,
    windowTokens: 1_000,
    windowSource: "catalog",
    utilization: tokens === undefined ? undefined : tokens / 1_000,
    rebuild: undefined,
  };
}

function minutesOf(change: (changes: RollupChanges) => void) {
  const changes = new RollupChanges();
  change(changes);
  return changes
    .everyGrain()
    .turns.filter(({ grain, harness }) => grain === 1 && harness !== ALL)
    .map(({ bucket, turns, peakTokens, stale, bins }) => ({
      minute: (bucket - START) / MINUTE,
      turns,
      peakTokens,
      stale,
      binned: bins.reduce((sum: number, count) => sum + (count ?? 0), 0),
    }));
}

describe("changes of rollups", () => {
  it("are made for every length, of each harness and of all", () => {
    const changes = new RollupChanges();
    changes.addTurn("h", reading(100));
    const { turns } = changes.everyGrain();
    expect(turns.map(({ grain, harness, model }) => `${grain} ${harness}/${model}`).sort()).toEqual(
      GRAINS.flatMap((grain) => [`${grain} ${ALL}/${ALL}`, `${grain} h/m`]).sort(),
    );
  });

  it.each<[string, TurnReading, TurnReading, ReturnType<typeof minutesOf>]>([
    [
      "a level that grew raises the peak",
      reading(100),
      reading(200),
      [{ minute: 0, turns: 0, peakTokens: 200, stale: false, binned: 0 }],
    ],
    [
      "a level that fell marks the peak to be read again",
      reading(200),
      reading(100),
      [{ minute: 0, turns: 0, peakTokens: 100, stale: true, binned: 0 }],
    ],
    [
      "a share that fell marks the peak to be read again",
      reading(200),
      { ...reading(200), windowTokens: 9_000, utilization: 200 / 9_000 },
      [{ minute: 0, turns: 0, peakTokens: 200, stale: true, binned: 0 }],
    ],
    [
      "a level that is no level any more marks the peak to be read again",
      reading(200),
      reading(200, { compaction: true }),
      [{ minute: 0, turns: 0, peakTokens: undefined, stale: true, binned: -1 }],
    ],
    [
      "a turn that was not counted before marks nothing",
      reading(undefined),
      reading(100),
      [{ minute: 0, turns: 0, peakTokens: 100, stale: false, binned: 1 }],
    ],
    [
      "a turn that moves to another minute marks the minute it left",
      reading(200),
      reading(200, { at: START - MINUTE }),
      [
        { minute: 0, turns: -1, peakTokens: undefined, stale: true, binned: -1 },
        { minute: -1, turns: 1, peakTokens: 200, stale: false, binned: 1 },
      ],
    ],
  ])("%s", (_, before, after, expected) => {
    expect(minutesOf((changes) => changes.replaceTurn("h", before, after))).toEqual(expected);
  });

  it("add what a boundary reclaimed, and take it back", () => {
    const changes = new RollupChanges();
    const boundary = { id: "b", type: "masked", at: START, window: 0, tokensBefore: 900, tokensAfter: 300 };
    changes.addBoundary("h", { ...boundary, tokensAfter: undefined }, -1);
    changes.addBoundary("h", boundary, 1);
    changes.addBoundary("h", { ...boundary, type: "phase" }, 1);
    const rows = changes.everyGrain().boundaries;
    expect(rows).toHaveLength(8);
    expect(
      rows.every(({ count, reclaimed, type }) => count === 0 && reclaimed === 600 && type === "masked"),
    ).toBe(true);
  });
});

let path: TestIngest;
let prisma: PrismaClient;

beforeAll(async () => {
  path = await testIngest();
  prisma = path.prisma;
  await setTestWindows(prisma);
});
afterAll(() => path.close());
beforeEach(() => emptyTables(prisma));

/** Few ids, so that most turns are sent again: smaller, grown, earlier, of another model, or for compaction. */
const events = fc.array(
  fc
    .record({
      id: fc.integer({ min: 0, max: 5 }),
      kind: fc.constantFrom("turn", "turn", "turn", "turn", "turn", "turn", "masked", "cleared"),
      harness: fc.constantFrom("h-0", "h-1"),
      agent: fc.constantFrom("main", "main", "scout"),
      minute: fc.constantFrom(0, 0, 0, 14, 15, 30),
      input: fc.option(fc.oneof(fc.integer({ min: 0, max: 14_000 }), fc.constant(210_000)), {
        nil: undefined,
        freq: 6,
      }),
      cache: fc.option(fc.integer({ min: 0, max: 9_000 }), { nil: undefined, freq: 2 }),
      output: fc.integer({ min: 0, max: 50 }),
      cost: fc.option(fc.constantFrom(0, 0.25, 1.5), { nil: undefined }),
      model: fc.constantFrom(
        "model-a",
        "model-a",
        "model-b",
        "nobody-knows",
        "claude-opus-4-6",
        "gemini-2.5-pro",
      ),
      size: fc.option(fc.constantFrom(8_000, 32_768), { nil: undefined, freq: 2 }),
      estimated: fc.boolean(),
      compaction: fc.integer({ min: 0, max: 7 }).map((n) => n === 0),
    })
    .map(
      ({
        id,
        kind,
        harness,
        agent,
        minute,
        input,
        cache,
        output,
        cost,
        model,
        size,
        estimated,
        compaction,
      }) => {
        const envelope = { harness, agent, session: "s", at: START + minute * MINUTE };
        if (kind === "masked") return { ...envelope, id: `m-${id}`, type: kind, observations: 1 };
        if (kind === "cleared") return { ...envelope, id: `c-${id}`, type: kind };
        return {
          ...envelope,
          id: `t-${id}`,
          type: "turn",
          model,
          usage: {
            input_tokens: input,
            cache_read_tokens: cache,
            output_tokens: output,
            ...(output % 2 === 1 && { cache_write_tokens: 90 * output, cache_write_1h_tokens: 70 * output }),
          },
          estimated,
          ...(cost === undefined ? {} : { cost_usd: cost }),
          ...(size === undefined ? {} : { context_window: size }),
          ...(compaction ? { purpose: "compaction" } : {}),
        };
      },
    ),
  { minLength: 1, maxLength: 40 },
);

describe("stored rollups", () => {
  it("equal the sums of the stored turns and boundaries, whatever was sent again", async () => {
    await fc.assert(
      fc.asyncProperty(events, fc.integer({ min: 1, max: 9 }), async (given, size) => {
        await emptyTables(prisma);
        const server = await path.start({ segmentTurns: 3 });
        for (let start = 0; start < given.length; start += size) {
          expect((await server.send(...given.slice(start, start + size))).rejected).toEqual([]);
        }
        await upkeepDone(prisma);
        await server.close();
        expect(await storedRollups(prisma)).toEqual(await sumsOfTurns(prisma));
        expect(await storedBoundaryRollups(prisma)).toEqual(await sumsOfBoundaries(prisma));
        const sums = "sum(prompt_tokens), sum(cached_tokens), sum(cost_micros), sum(estimated_cost_micros)";
        const [spent] = await prisma.$queryRawUnsafe<Record<"agents" | "sessions" | "rollups", string>[]>(
          `SELECT
          (SELECT json_build_array(${sums}, sum(turns - cost_turns - estimated_cost_turns)) FROM agents)::text AS agents,
          (SELECT json_build_array(${sums}, sum(turns - cost_turns - estimated_cost_turns)) FROM sessions)::text AS sessions,
          (SELECT json_build_array(COALESCE(sum(fresh + cache_read + cache_write), 0), COALESCE(sum(cache_read), 0),
            COALESCE(sum(cost_micros), 0), COALESCE(sum(estimated_cost_micros), 0), COALESCE(sum(unpriced_turns), 0))
            FROM rollups WHERE grain = 360 AND harness = '${ALL}')::text AS rollups`,
        );
        expect(spent!.agents).toBe(spent!.rollups);
        expect(spent!.sessions).toBe(spent!.rollups);
      }),
      { numRuns: Number(process.env.FUZZ_RUNS ?? 6) },
    );
  }, 600_000);

  it("keep harness vm/x with model openai apart from harness x with model openai/vm", async () => {
    const server = await path.start();
    const turn = (harness: string, model: string, input: number) => ({
      id: `${harness} ${model}`,
      type: "turn",
      at: START,
      harness,
      session: "s",
      model,
      usage: { input_tokens: input },
    });
    await server.send(
      turn("vm/x", "openai", 100),
      turn("x", "openai/vm", 200),
      turn("x", "vm/openai", 400),
      turn("openai/vm", "x", 800),
    );
    await server.close();
    const rows = await prisma.rollup.findMany({
      where: { grain: 60, harness: { not: ALL } },
      orderBy: { peakTokens: "asc" },
    });
    expect(rows.map(({ harness, model, turns, peakTokens }) => [harness, model, turns, peakTokens])).toEqual([
      ["vm/x", "openai", 1, 100],
      ["x", "openai/vm", 1, 200],
      ["x", "vm/openai", 1, 400],
      ["openai/vm", "x", 1, 800],
    ]);
    expect(await storedRollups(prisma)).toEqual(await sumsOfTurns(prisma));
  });
});
