import { addBins, binOf, percentile } from "@plimsoll/fold";
import { type SeriesMetric, SeriesQuery } from "@plimsoll/protocol/api";
import fc from "fast-check";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { ALL, GRAINS } from "../db/tables/buckets.ts";
import { OTHER } from "../db/tables/rollup-names.ts";
import { PolicyBook } from "../lines/policy-book.ts";
import type { FreshReader } from "../lines/reader.ts";
import { type TestDatabase, testDatabase } from "../testing/database.ts";
import { readSeries } from "./series.ts";

const START = Date.UTC(2026, 10, 20);
const HOUR = 3_600_000;

let database: TestDatabase;
let reader: FreshReader;

beforeAll(async () => {
  database = await testDatabase();
  const { prisma } = database;
  reader = { prisma, projectId: 1, policy: PolicyBook.empty, now: 0, lag: { events: 0, ms: 0 } };
});
afterAll(() => database.close());
beforeEach(() => database.prisma.rollup.deleteMany());

/** One turn of a harness and a model. */
interface Turn {
  harness: string;
  model: string;
  hour: number;
  share: number;
}

const anyTurns = fc.array(
  fc.record({
    harness: fc.constantFrom("a", "b", "c", "d", "é", "other", OTHER),
    model: fc.constantFrom("m", "n", OTHER),
    hour: fc.nat(3),
    share: fc.integer({ min: 0, max: 79 }).map((bin) => (bin + 0.5) * 0.025),
  }),
  { minLength: 1, maxLength: 30 },
);

/** Stores the turns as rollups of single harnesses and models, and of all. */
async function store(turns: readonly Turn[]): Promise<void> {
  const rows = new Map<string, Turn[]>();
  for (const turn of turns) {
    for (const [harness, model] of [
      [turn.harness, turn.model],
      [ALL, ALL],
    ]) {
      const key = JSON.stringify([turn.hour, harness, model]);
      rows.set(key, [...(rows.get(key) ?? []), turn]);
    }
  }
  await database.prisma.rollup.deleteMany();
  await database.prisma.rollup.createMany({
    data: [...rows].map(([key, own]) => {
      const [hour, harness, model] = JSON.parse(key) as [number, string, string];
      return {
        projectId: 1,
        grain: GRAINS[2],
        bucket: new Date(START + hour * HOUR),
        harness,
        model,
        turns: own.length,
        missing: 0,
        fresh: 10 * own.length,
        cacheRead: 0,
        cacheWrite: 0,
        output: 0,
        costMicros: 0,
        peakTokens: Math.max(...own.map(({ share }) => Math.round(share * 1_000))),
        peakUtilization: Math.max(...own.map(({ share }) => share)),
        bins: binsOf(own),
      };
    }),
  });
}

function binsOf(turns: readonly Turn[]): number[] {
  return turns
    .map(({ share }) => [...Array<number>(binOf(share)).fill(0), 1])
    .reduce((sum, bins) => addBins(sum, bins), []);
}

const VALUES: Partial<Record<SeriesMetric, (turns: readonly Turn[]) => number>> = {
  turns: (turns) => turns.length,
  input_tokens: (turns) => 10 * turns.length,
  utilization_peak: (turns) => Math.fround(Math.max(...turns.map(({ share }) => share))),
  utilization_p50: (turns) => percentile(binsOf(turns), 0.5, VALUES.utilization_peak!(turns))!,
  utilization_p95: (turns) => percentile(binsOf(turns), 0.95, VALUES.utilization_peak!(turns))!,
};
const METRICS = Object.keys(VALUES) as SeriesMetric[];

const read = (metric: SeriesMetric, more: Record<string, unknown>) =>
  readSeries(
    reader,
    SeriesQuery.parse({
      metric,
      from: new Date(START).toISOString(),
      to: new Date(START + 4 * HOUR).toISOString(),
      step: 3_600,
      ...more,
    }),
  );

describe("a series by name", () => {
  it("has the top names, and in one group exactly what the others have together", async () => {
    await fc.assert(
      fc.asyncProperty(
        anyTurns,
        fc.integer({ min: 1, max: 5 }),
        fc.constantFrom<"harness" | "model">("harness", "model"),
        fc.constantFrom(...METRICS),
        async (turns, top, group_by, metric) => {
          await store(turns);
          const { groups } = await read(metric, { group_by, top });
          const names = new Set(turns.map((turn) => turn[group_by]));
          const isOverLimit = names.delete(OTHER);
          const named = groups.flatMap(({ group }) => (group === null ? [] : [group]));
          expect(named).toHaveLength(Math.min(top, names.size));
          const rest = groups.find(({ group }) => group === null);
          if (names.size <= top && !isOverLimit) expect(rest).toBeUndefined();
          else expect(rest?.other).toEqual({ names: names.size - named.length, over_limit: isOverLimit });
          expect(groups.indexOf(rest!)).toBe(rest === undefined ? -1 : groups.length - 1);

          const combined = VALUES[metric]!;
          for (const { group, points } of groups) {
            const own = turns.filter((turn) =>
              group === null ? !named.includes(turn[group_by]) : turn[group_by] === group,
            );
            for (const { at, value } of points) {
              const then = own.filter(({ hour }) => START + hour * HOUR === Date.parse(at));
              expect(value).toBeCloseTo(then.length === 0 ? 0 : combined(then), 5);
            }
            expect(points.length).toBeGreaterThanOrEqual(new Set(own.map(({ hour }) => hour)).size);
          }
        },
      ),
      { numRuns: Number(process.env.FUZZ_RUNS ?? 20) },
    );
  });

  it("ranks by the metric over the whole range, and equal ones by name", async () => {
    const turn = (harness: string, hour: number, share: number): Turn => ({
      harness,
      model: "m",
      hour,
      share,
    });
    await store([
      ...[0, 1, 2].map((hour) => turn("often", hour, 0.1)),
      turn("high", 0, 0.9),
      turn("é", 0, 0.5),
      turn("b", 1, 0.5),
      turn("Z", 2, 0.5),
    ]);
    const order = async (metric: SeriesMetric) =>
      (await read(metric, { group_by: "harness" })).groups.map(({ group }) => group);
    expect(await order("turns")).toEqual(["often", "Z", "b", "high", "é"]);
    expect(await order("utilization_peak")).toEqual(["high", "Z", "b", "é", "often"]);
    expect(await order("utilization_p95")).toEqual(["high", "Z", "b", "é", "often"]);
  });

  it("says in one group that there is nothing", async () => {
    for (const metric of ["turns", "crossings"] as const) {
      const { groups } = await read(metric, { group_by: "harness" });
      expect(groups).toMatchObject([{ group: null, other: null }]);
      expect(groups[0]!.points.map(({ value }) => value)).toEqual([0, 0, 0, 0]);
    }
  });

  it("has longer steps if it has many groups", async () => {
    const month = { to: new Date(START + 30 * 24 * HOUR).toISOString(), step: 3_600, group_by: "harness" };
    expect((await read("turns", { ...month, top: 10 })).step).toBe(3_600);
    expect((await read("turns", { ...month, top: 50 })).step).toBe(21_600);
  });
});
