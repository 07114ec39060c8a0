import fc from "fast-check";
import { expect, it } from "vitest";
import { localDays } from "./local-days.ts";

const HOUR = 3_600_000;
const at = (text: string) => Date.parse(text);

it.each([
  ["UTC", "2026-11-26T15:00:00Z", "2026-11-27T15:00:00Z", ["2026-11-26 24", "2026-11-27 24"]],
  ["Asia/Kathmandu", "2026-11-26T18:10:00Z", "2026-11-26T18:20:00Z", ["2026-11-26 24", "2026-11-27 24"]],
  // Summer time begins and ends.
  ["Europe/Berlin", "2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z", ["2026-03-29 23"]],
  ["Europe/Berlin", "2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z", ["2026-10-25 25"]],
  ["Australia/Lord_Howe", "2026-10-03T13:30:00Z", "2026-10-04T13:00:00Z", ["2026-10-04 23.5"]],
  // At midnight.
  ["Africa/Cairo", "2026-04-23T12:00:00Z", "2026-04-24T12:00:00Z", ["2026-04-23 24", "2026-04-24 23"]],
  // A day that did not exist.
  ["Pacific/Apia", "2011-12-30T00:00:00Z", "2011-12-31T00:00:00Z", ["2011-12-29 24", "2011-12-31 24"]],
])("days of %s from %s to %s", (zone, from, to, expected) => {
  const days = localDays({ from: at(from), to: at(to) }, zone, 10);
  expect(days.map(({ day, from: start, to: end }) => `${day} ${(end - start) / HOUR}`)).toEqual(expected);
});

it("days follow each other, cover the span, and are the latest of a long one", () => {
  const zones = ["UTC", "America/New_York", "Asia/Kolkata", "Pacific/Chatham", "Africa/Casablanca"];
  const times = fc.integer({ min: at("1990-01-01"), max: at("2037-01-01") });
  fc.assert(
    fc.property(
      fc.constantFrom(...zones),
      times,
      fc.integer({ min: 1, max: 40 * 24 * HOUR }),
      (zone, from, length) => {
        const span = { from, to: from + length };
        const days = localDays(span, zone, 5);
        for (const [index, { to }] of days.slice(0, -1).entries()) expect(to).toBe(days[index + 1]!.from);
        expect(days.at(-1)!.from).toBeLessThan(span.to);
        expect(days.at(-1)!.to).toBeGreaterThanOrEqual(span.to);
        if (days.length < 5) expect(days[0]!.from).toBeLessThanOrEqual(from);
        expect(days[0]!.to).toBeGreaterThan(from);
        expect(new Set(days.map(({ day }) => day)).size).toBe(days.length);
      },
    ),
    { numRuns: 200 },
  );
});
