import { describe, expect, test } from "vitest";
import { levelTicks, timeTicks, turnTicks } from "./ticks.ts";

test.each([
  [240_000, [0, 50_000, 100_000, 150_000, 200_000]],
  [22.4, [0, 5, 10, 15, 20]],
  [1, [0, 0.2, 0.4, 0.6, 0.8, 1]],
  [0, [0]],
])("levelTicks(%d)", (top, ticks) => {
  expect(levelTicks(top)).toEqual(ticks);
});

test.each([
  [1, 90, [20, 40, 60, 80]],
  [1, 3, [1, 2, 3]],
  [1, 2, [1, 2]],
])("turnTicks(%d, %d)", (from, to, ticks) => {
  expect(turnTicks(from, to)).toEqual(ticks);
});

describe("timeTicks", () => {
  const from = Date.UTC(2026, 10, 20, 22, 10);
  const hour = 3_600_000;
  test("are on round hours", () => {
    expect(timeTicks(from, from + 24 * hour).map((at) => new Date(at).getUTCHours())).toEqual([0, 6, 12, 18]);
  });
  test("are round in the viewer's time zone", () => {
    const offset = 5.5 * hour;
    const ticks = timeTicks(from, from + 24 * hour, offset);
    expect(ticks.map((at) => new Date(at + offset).getUTCMinutes())).toEqual(ticks.map(() => 0));
  });
  test("are one for an empty range", () => {
    expect(timeTicks(from, from)).toEqual([from]);
  });
});
