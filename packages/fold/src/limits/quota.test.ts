import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { forecastQuota, mergeQuotaPercents, type QuotaPercent, type QuotaWindow } from "./quota.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const START = Date.UTC(2026, 10, 20, 10);

/** A window of five hours with these percents, each first reported so many minutes after its begin. */
const window = (...percents: [minutes: number, usedPercent: number][]): QuotaWindow => ({
  resetsAt: START + 5 * HOUR,
  windowMinutes: 300,
  percents: percents.map(([minutes, usedPercent]) => ({
    usedPercent,
    firstReceivedAt: START + minutes * MINUTE,
  })),
});

describe("the forecast of a quota", () => {
  it.each<[what: string, quota: QuotaWindow, minutes: number, reason: string, ends: number | undefined]>([
    ["at the pace of the last half hour", window([0, 10], [60, 40], [90, 60]), 90, "rising", 150],
    ["whatever was used before", window([60, 60], [90, 70]), 90, "rising", 180],
    [
      "at the mean of the window where nothing was reported half an hour ago",
      window([100, 50]),
      100,
      "rising",
      200,
    ],
    ["not before the reset at a slow pace", window([60, 60], [90, 61]), 90, "not_before_reset", undefined],
    ["not while it is not used", window([0, 60]), 90, "not_before_reset", undefined],
    ["not at the very reset", window([100, 20]), 100, "not_before_reset", undefined],
    ["not in the first minutes", window([10, 5]), 10, "too_few_readings", undefined],
    ["used up", window([60, 60], [90, 100]), 90, "used_up", undefined],
    ["used up, and more", window([90, 117]), 91, "used_up", undefined],
    ["reset, also if it was used up", window([90, 100]), 300, "reset", undefined],
  ])("%s", (_, quota, minutes, reason, ends) => {
    expect(forecastQuota(quota, START + minutes * MINUTE)).toEqual({
      reason,
      endsAt: ends === undefined ? undefined : START + ends * MINUTE,
    });
  });

  it("needs a day of readings where the window is unknown", () => {
    const monthly = { resetsAt: START + 20 * 24 * HOUR, windowMinutes: undefined };
    const percents = [{ usedPercent: 10, firstReceivedAt: START }];
    expect(forecastQuota({ ...monthly, percents }, START + 23 * HOUR).reason).toBe("too_few_readings");
    const later = [...percents, { usedPercent: 40, firstReceivedAt: START + 20 * HOUR }];
    expect(forecastQuota({ ...monthly, percents: later }, START + 24 * HOUR)).toEqual({
      reason: "rising",
      endsAt: START + 72 * HOUR,
    });
  });

  it("is never before now, never at the reset or after it, and does not depend on the order", () => {
    const anyPercents = fc.array(
      fc.record({
        usedPercent: fc.integer({ min: 0, max: 130 }),
        firstReceivedAt: fc.integer({ min: START - HOUR, max: START + 9 * HOUR }),
      }),
      { minLength: 1, maxLength: 20 },
    );
    const anyWindow = fc.constantFrom(undefined, 1, 300, 10_080);
    fc.assert(
      fc.property(
        anyPercents,
        anyWindow,
        fc.integer({ min: -60, max: 600 }),
        (percents, windowMinutes, minutes) => {
          const now = START + minutes * MINUTE;
          const resetsAt = START + 5 * HOUR;
          const { reason, endsAt } = forecastQuota({ resetsAt, windowMinutes, percents }, now);
          expect(endsAt !== undefined).toBe(reason === "rising");
          if (endsAt !== undefined) {
            expect(endsAt).toBeGreaterThanOrEqual(now);
            expect(endsAt).toBeLessThan(resetsAt);
          }
          const turned = { resetsAt, windowMinutes, percents: [...percents].reverse() };
          expect(forecastQuota(turned, now)).toEqual({ reason, endsAt });
        },
      ),
    );
  });
});

describe("reports of one percent", () => {
  const anyReport = fc
    .record({ at: fc.integer({ min: 0, max: 5 }), received: fc.integer({ min: 0, max: 5 }) })
    .map(
      ({ at, received }): QuotaPercent => ({
        usedPercent: 41,
        firstReceivedAt: received,
        lastAt: at,
        lastReceivedAt: received,
      }),
    );

  it("merge to the same in any order, however often each arrives", () => {
    fc.assert(
      fc.property(
        fc.array(anyReport, { minLength: 1, maxLength: 12 }),
        fc.infiniteStream(fc.nat(11)),
        (reports, dice) => {
          const expected = reports.reduce(mergeQuotaPercents);
          const again = [...reports, ...reports.filter((_, index) => index % 2 === 0)]
            .map((report) => ({ report, rank: dice.next().value as number }))
            .sort((a, b) => a.rank - b.rank)
            .map(({ report }) => report);
          expect(again.reduce(mergeQuotaPercents)).toEqual(expected);
        },
      ),
    );
  });

  it("are as old as the newest reading, and a repeated delivery makes them no younger", () => {
    const reading = { usedPercent: 41, firstReceivedAt: 10, lastAt: 9, lastReceivedAt: 10 };
    const repeat = { ...reading, firstReceivedAt: 99, lastReceivedAt: 99 };
    expect(mergeQuotaPercents(reading, repeat)).toEqual(reading);
    const next = { usedPercent: 41, firstReceivedAt: 20, lastAt: 19, lastReceivedAt: 20 };
    expect(mergeQuotaPercents(reading, next)).toEqual({ ...next, firstReceivedAt: 10 });
  });
});
