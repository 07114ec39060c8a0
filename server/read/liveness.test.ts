import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Prisma } from "../db/client.ts";
import { type TestDatabase, testDatabase } from "../testing/database.ts";
import { activeAt, activeAtSql, type HeardTimes, LIVE_FOR } from "./liveness.ts";

const NOW = Date.UTC(2026, 10, 24, 9);
const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** An agent that worked for `worked` ms, whose events were received over `received` ms until now. */
function heard(worked: number, received: number, clock = 0, delay = 0): HeardTimes {
  const lastAt = NOW + clock - delay;
  return { firstAt: lastAt - worked, lastAt, firstReceivedAt: NOW - received, lastReceivedAt: NOW };
}

describe("an agent is active at", () => {
  test.each<[string, HeardTimes, number]>([
    ["the time of its last event", heard(HOUR, HOUR, 0, 20 * SECOND), NOW - 20 * SECOND],
    ["the time of its last event, however late it is received", heard(HOUR, 0, 0, HOUR), NOW - HOUR],
    ["that time also if history arrives in pieces", heard(5 * HOUR, 2 * MINUTE, 0, 9 * HOUR), NOW - 9 * HOUR],
    [
      "that time also if history is sent again a day later",
      heard(HOUR, 24 * HOUR, 0, 25 * HOUR),
      NOW - 25 * HOUR,
    ],
    ["the receipt if the clock of the harness is ahead", heard(HOUR, HOUR, 3 * HOUR), NOW],
    ["the receipt if the clock is ahead and history is sent", heard(HOUR, 0, 3 * HOUR), NOW],
    ["the receipt if the clock is behind", heard(HOUR, HOUR, -2 * HOUR), NOW],
    [
      "the receipt if the clock is behind and the last event was slow",
      heard(HOUR, HOUR + 3_000, -2 * HOUR),
      NOW,
    ],
    ["the event if one receipt cannot tell", heard(0, 0, -2 * HOUR), NOW - 2 * HOUR],
  ])("%s", (_, times, expected) => {
    expect(activeAt(times)).toBe(expected);
  });

  test("no later than it was received, and no later than its event unless the clock is behind", () => {
    fc.assert(
      fc.property(anyTimes(), (times) => {
        const at = activeAt(times);
        expect(at).toBeLessThanOrEqual(times.lastReceivedAt);
        if (at > times.lastAt) expect(times.lastAt).toBeLessThan(times.lastReceivedAt - LIVE_FOR);
      }),
    );
  });
});

describe("in SQL", () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await testDatabase();
  });
  afterAll(() => database.close());

  test("it is the same", async () => {
    const rows = fc.sample(anyTimes(), { numRuns: 2_000, seed: 12 });
    const columns = rows.map(
      ({ firstAt, lastAt, firstReceivedAt, lastReceivedAt }) =>
        Prisma.sql`(${new Date(firstAt)}::timestamptz, ${new Date(lastAt)}::timestamptz,
          ${new Date(firstReceivedAt)}::timestamptz, ${new Date(lastReceivedAt)}::timestamptz)`,
    );
    const found = await database.prisma.$queryRaw<{ at: Date }[]>`
      SELECT ${activeAtSql("a")} AS at
      FROM (VALUES ${Prisma.join(columns)}) AS a(first_at, last_at, first_received_at, last_received_at)`;
    expect(found.map(({ at }) => at.getTime())).toEqual(rows.map(activeAt));
  });
});

/** Spans from seconds to days, many of them alike. */
function anyTimes(): fc.Arbitrary<HeardTimes> {
  const span = fc.oneof(
    fc.integer({ min: 0, max: 30 * SECOND }),
    fc.integer({ min: 0, max: 3 * HOUR }),
    fc.constantFrom(0, 10 * SECOND, LIVE_FOR, HOUR, 24 * HOUR),
  );
  return fc
    .record({
      worked: span,
      received: span,
      alike: fc.boolean(),
      off: fc.tuple(span, fc.constantFrom(-1, 1)).map(([ms, sign]) => ms * sign),
    })
    .map(({ worked, received, alike, off }) => ({
      firstAt: NOW + off - worked,
      lastAt: NOW + off,
      firstReceivedAt: NOW - (alike ? worked : received),
      lastReceivedAt: NOW,
    }));
}
