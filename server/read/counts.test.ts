import { afterAll, beforeAll, expect, test } from "vitest";
import { NAMES_PER_DAY, OTHER } from "../db/tables/rollup-names.ts";
import { PolicyBook } from "../lines/policy-book.ts";
import type { FreshReader } from "../lines/reader.ts";
import { type TestDatabase, testDatabase } from "../testing/database.ts";
import { readCounts } from "./counts.ts";

let database: TestDatabase;

beforeAll(async () => {
  database = await testDatabase();
  await database.prisma.rollup.createMany({
    data: [19, 20, 21].map((day) => ({
      projectId: 1,
      grain: 360,
      bucket: new Date(Date.UTC(2026, 10, day, 18)),
      harness: OTHER,
      model: OTHER,
      turns: 2 * day,
      missing: 0,
      fresh: 0,
      cacheRead: 0,
      cacheWrite: 0,
      output: 0,
      costMicros: 0,
    })),
  });
  await database.prisma.ingestCount.createMany({
    data: [19, 20, 21].map((day) => ({
      projectId: 1,
      day: new Date(Date.UTC(2026, 10, day)),
      outcome: "turn",
      count: BigInt(day),
    })),
  });
});
afterAll(() => database.close());

test.each([
  ["a day, and not the one that begins where it ends", "2026-11-20T00:00:00Z", "2026-11-21T00:00:00Z", 20],
  ["a part of a day is all of it", "2026-11-20T10:00:00Z", "2026-11-20T11:00:00Z", 20],
  ["a moment past midnight", "2026-11-20T00:00:00Z", "2026-11-21T00:00:00.001Z", 41],
  ["a moment before midnight", "2026-11-19T23:59:59.999Z", "2026-11-21T00:00:00Z", 39],
])("%s", async (_, from, to, turns) => {
  const reader: FreshReader = {
    prisma: database.prisma,
    projectId: 1,
    policy: PolicyBook.empty,
    now: 0,
    lag: { events: 0, ms: 0 },
  };
  expect(await readCounts(reader, { from, to })).toEqual({
    counts: [{ outcome: "turn", count: turns }],
    names: { limit: NAMES_PER_DAY, turns_over_limit: 2 * turns, boundaries_over_limit: 0 },
    contested: [],
  });
});
