import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { forecast, minutesFor } from "./forecast.ts";

describe("turns to the line", () => {
  test.each<[string, number[], number | undefined, ReturnType<typeof forecast>]>([
    ["rising", [100, 200, 300, 400], 1_000, { reason: "rising", turns: 6, growth: 100 }],
    [
      "a part of a turn counts as one",
      [100, 200, 300, 400],
      1_001,
      { reason: "rising", turns: 7, growth: 100 },
    ],
    [
      "one huge result does not cry wolf",
      [100, 110, 120, 600, 610],
      1_000,
      { reason: "rising", turns: 39, growth: 10 },
    ],
    ["on the line is over it", [800, 900, 1_000], 1_000, { reason: "over", turns: undefined, growth: 100 }],
    ["over it", [1_500], 1_000, { reason: "over", turns: undefined, growth: undefined }],
    ["level", [500, 500, 500, 500], 1_000, { reason: "steady", turns: undefined, growth: 0 }],
    ["falling", [500, 480, 460, 440], 1_000, { reason: "steady", turns: undefined, growth: -20 }],
    ["creeping", [500, 502, 504, 506], 1_000, { reason: "steady", turns: undefined, growth: 2 }],
    ["too few steps to judge", [100, 200, 300], 1_000, { reason: "no_trend", turns: undefined, growth: 100 }],
    ["one turn", [100], 1_000, { reason: "no_trend", turns: undefined, growth: undefined }],
    ["no turn", [], 1_000, { reason: "no_trend", turns: undefined, growth: undefined }],
    ["no line", [100, 200, 300, 400], undefined, { reason: "no_line", turns: undefined, growth: 100 }],
  ])("%s", (_, recent, line, expected) => {
    expect(forecast(recent, line)).toEqual(expected);
  });

  test("steady growth meets the line in exactly the turns foretold", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 5_000 }),
        fc.integer({ min: 300, max: 900 }),
        fc.integer({ min: 10_000, max: 90_000 }),
        (start, step, line) => {
          const recent = [0, 1, 2, 3].map((turn) => start + turn * step);
          const { reason, turns } = forecast(recent, line);
          expect(reason).toBe("rising");
          expect(recent[3]! + turns! * step).toBeGreaterThanOrEqual(line);
          expect(recent[3]! + (turns! - 1) * step).toBeLessThan(line);
        },
      ),
    );
  });
});

describe("minutes for some turns", () => {
  const minute = 60_000;
  test.each<[string, number | undefined, number[], number | undefined]>([
    ["at the median pace", 10, [0, 1, 2, 3].map((at) => at * minute), 10],
    ["one long pause does not count", 10, [0, 1, 2, 90, 91].map((at) => at * minute), 10],
    ["turns out of order in time take no time", 10, [3, 2, 1, 0].map((at) => at * minute), 0],
    ["too few turns to know a pace", 10, [0, minute, 2 * minute], undefined],
    ["no turns to wait for", undefined, [0, 1, 2, 3], undefined],
  ])("%s", (_, turns, times, minutes) => {
    expect(minutesFor(turns, times)).toBe(minutes);
  });
});
