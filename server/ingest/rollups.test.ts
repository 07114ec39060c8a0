import { BOUNDARY_TYPES, binOf, larger } from "@plimsoll/protocol";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { PrismaClient } from "../db/client.ts";
import { emptyTables } from "../testing/dump.ts";
import { type TestIngest, testIngest } from "../testing/ingest.ts";
import { ALL, bucketOf, GRAINS } from "./rollup.ts";

/** A quarter before a border of the longest bucket, so that what is late lands on either side of it. */
const START = Date.UTC(2026, 10, 20, 11, 45);
const MINUTE = 60_000;

let path: TestIngest;
let prisma: PrismaClient;

beforeAll(async () => {
  path = await testIngest(START + 86_400_000);
  prisma = path.prisma;
});
afterAll(() => path.close());

/**
 * Few ids, so that most turns are told again: with a measured count that is lower than the estimate before, with cached
 * tokens that prove another basis, under another model, as one that only compacts, at an earlier time, or grown.
 */
const events = fc.array(
  fc
    .record({
      id: fc.integer({ min: 0, max: 5 }),
      kind: fc.constantFrom("turn", "turn", "turn", "turn", "turn", "turn", "masked", "cleared"),
      harness: fc.constantFrom("h-0", "h-1"),
      agent: fc.constantFrom("main", "main", "scout"),
      minute: fc.constantFrom(0, 0, 0, 14, 15, 30),
      input: fc.option(fc.integer({ min: 0, max: 14_000 }), { nil: undefined, freq: 6 }),
      cache: fc.option(fc.integer({ min: 0, max: 9_000 }), { nil: undefined, freq: 2 }),
      output: fc.integer({ min: 0, max: 50 }),
      model: fc.constantFrom("model-a", "model-a", "model-b", "nobody-knows"),
      size: fc.option(fc.constantFrom(8_000, 32_768), { nil: undefined, freq: 2 }),
      estimated: fc.boolean(),
      compaction: fc.integer({ min: 0, max: 7 }).map((n) => n === 0),
    })
    .map(({ id, kind, harness, agent, minute, input, cache, output, model, size, estimated, compaction }) => {
      const envelope = { harness, agent, session: "s", at: START + minute * MINUTE };
      if (kind === "masked") return { ...envelope, id: `m-${id}`, type: kind, observations: 1 };
      if (kind === "cleared") return { ...envelope, id: `c-${id}`, type: kind };
      return {
        ...envelope,
        id: `t-${id}`,
        type: "turn",
        model,
        usage: { input_tokens: input, cache_read_tokens: cache, output_tokens: output },
        estimated,
        ...(size === undefined ? {} : { context_window: size }),
        ...(compaction ? { purpose: "compaction" } : {}),
      };
    }),
  { minLength: 1, maxLength: 40 },
);

const settles = fc.array(fc.boolean(), { maxLength: 40 });

/**
 * Sends the events a few at a time, each batch in a transaction of its own. After those that `settles` says, what is
 * pending is settled beside the next.
 */
async function send(told: readonly unknown[], size: number, settles: readonly boolean[]): Promise<void> {
  const service = path.start();
  const settling: Promise<void>[] = [];
  for (let start = 0; start < told.length; start += size) {
    const { rejected } = await service.accept(
      1,
      told.slice(start, start + size).map((value) => ({ value })),
    );
    expect(rejected).toEqual([]);
    if (settles[start / size] === true) settling.push(path.totals.settle());
  }
  await Promise.all(settling);
  await service.close();
}

interface Sum {
  turns: number;
  missing: number;
  prompt: number;
  output: number;
  peakTokens: number | null;
  peakUtilization: number | null;
  bins: number[];
}

/** By grain, bucket, harness and model: what the turns that are stored come to, one by one. */
async function sumsOfTurns(): Promise<Record<string, Sum>> {
  const sums: Record<string, Sum> = {};
  const [turns, agents, sessions, models] = await Promise.all([
    prisma.turn.findMany(),
    prisma.agent.findMany(),
    prisma.session.findMany(),
    prisma.model.findMany(),
  ]);
  const harnesses = new Map(sessions.map(({ id, harness }) => [id, harness]));
  const harnessOf = new Map(agents.map(({ id, sessionId }) => [id, harnesses.get(sessionId)!]));
  const modelOf = new Map(models.map(({ id, name }) => [id, name]));
  for (const turn of turns) {
    const { contextTokens, windowTokens } = turn;
    const level = turn.purpose === 0 ? contextTokens : null;
    const share = level !== null && windowTokens !== null ? level / windowTokens : null;
    const apart = [harnessOf.get(turn.agentId)!, modelOf.get(turn.modelId)!];
    for (const grain of GRAINS) {
      for (const [harness, model] of [apart, [ALL, ALL]]) {
        const key = [grain, bucketOf(turn.at.getTime(), grain), harness, model].join("/");
        sums[key] ??= {
          turns: 0,
          missing: 0,
          prompt: 0,
          output: 0,
          peakTokens: null,
          peakUtilization: null,
          bins: [],
        };
        const sum = sums[key];
        sum.turns += 1;
        if (contextTokens === null) sum.missing += 1;
        // Of a prompt nobody counted as a whole, the cached part may still be known.
        sum.prompt += contextTokens ?? (turn.cacheRead ?? 0) + (turn.cacheWrite ?? 0);
        sum.output += turn.outputTokens ?? 0;
        sum.peakTokens = larger(sum.peakTokens ?? undefined, level ?? undefined) ?? null;
        if (share === null) continue;
        sum.peakUtilization = Math.max(sum.peakUtilization ?? 0, Math.fround(share));
        const bin = binOf(share);
        while (sum.bins.length <= bin) sum.bins.push(0);
        sum.bins[bin]! += 1;
      }
    }
  }
  return sums;
}

async function rollups(): Promise<Record<string, Sum>> {
  const rows = await prisma.rollup.findMany({ where: { turns: { not: 0 } } });
  return Object.fromEntries(
    rows.map(({ grain, bucket, harness, model, turns, missing, output, peakTokens, ...row }) => {
      const bins = [...row.bins];
      while (bins.at(-1) === 0) bins.pop();
      const prompt = Number(row.fresh + row.cacheRead + row.cacheWrite);
      const peakUtilization = row.peakUtilization === null ? null : Math.fround(row.peakUtilization);
      return [
        [grain, bucket.getTime(), harness, model].join("/"),
        { turns, missing, prompt, output: Number(output), peakTokens, peakUtilization, bins },
      ];
    }),
  );
}

type Falls = Record<string, [count: number, reclaimed: number]>;

async function sumsOfBoundaries(): Promise<Falls> {
  const sums: Falls = {};
  const rows = await prisma.boundary.findMany({ where: { type: { in: [...BOUNDARY_TYPES] } } });
  const sessions = await prisma.session.findMany();
  for (const { type, at, sessionId, tokensBefore, tokensAfter } of rows) {
    const own = sessions.find(({ id }) => id === sessionId)!.harness;
    const reclaimed =
      tokensBefore === null || tokensAfter === null ? 0 : Math.max(0, tokensBefore - tokensAfter);
    for (const grain of GRAINS) {
      for (const harness of [own, ALL]) {
        const key = [grain, bucketOf(at.getTime(), grain), harness, type].join("/");
        const [count, sum] = sums[key] ?? [0, 0];
        sums[key] = [count + 1, sum + reclaimed];
      }
    }
  }
  return sums;
}

async function boundaryRollups(): Promise<Falls> {
  const rows = await prisma.boundaryRollup.findMany({ where: { count: { not: 0 } } });
  return Object.fromEntries(
    rows.map(({ grain, bucket, harness, type, count, reclaimed }) => [
      [grain, bucket.getTime(), harness, type].join("/"),
      [count, Number(reclaimed)],
    ]),
  );
}

describe("rollups", () => {
  it("of each harness and of all are what the stored turns and boundaries come to, whatever was told again", async () => {
    await fc.assert(
      fc.asyncProperty(events, fc.integer({ min: 1, max: 9 }), settles, async (told, size, settles) => {
        await emptyTables(prisma);
        await send(told, size, settles);
        expect(await rollups()).toEqual(await sumsOfTurns());
        expect(await boundaryRollups()).toEqual(await sumsOfBoundaries());
      }),
      { numRuns: Number(process.env.PLIMSOLL_PROPERTY_RUNS ?? 20) },
    );
  }, 600_000);
});
