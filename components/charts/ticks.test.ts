import { describe, expect, test } from "vitest";
import { levelTicks, timeTicks, wholeTicks } from "./ticks.ts";

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
])("wholeTicks(%d, %d)", (from, to, ticks) => {
  expect(wholeTicks(from, to)).toEqual(ticks);
});

test.each([
  [2, [0, 1, 2]],
  [10, [0, 5, 10]],
  [8, [0, 2, 4, 6, 8]],
])("counts up to %d get evenly spaced ticks", (top, ticks) => {
  expect(wholeTicks(0, top, 4)).toEqual(ticks);
});

describe("timeTicks", () => {
  const from = Date.UTC(2026, 10, 20, 22, 10);
  const hour = 3_600_000;
  test("are on round hours", () => {
    expect(timeTicks(from, from + 24 * hour, 6, () => 0).map((at) => new Date(at).getUTCHours())).toEqual([
      0, 6, 12, 18,
    ]);
  });
  test("are round in the viewer's time zone", () => {
    const offset = 5.5 * hour;
    const ticks = timeTicks(from, from + 24 * hour, 6, () => offset);
    expect(ticks.map((at) => new Date(at + offset).getUTCMinutes())).toEqual(ticks.map(() => 0));
  });
  test("stay at local midnight across a change of daylight saving time", () => {
    // Berlin leaves daylight saving time on 25 October 2026 at 01:00 UTC.
    const berlin = (at: number) => (at < Date.UTC(2026, 9, 25, 1) ? 2 : 1) * hour;
    const start = Date.UTC(2026, 9, 23, 10);
    expect(
      timeTicks(start, start + 4 * 24 * hour, 6, berlin).map((at) => new Date(at).toISOString().slice(5, 13)),
    ).toEqual(["10-23T22", "10-24T22", "10-25T23", "10-26T23"]);
  });
  test("leave out local times that the clock skips", () => {
    // Berlin enters daylight saving time on 29 March 2026 at 01:00 UTC.
    const berlin = (at: number) => (at < Date.UTC(2026, 2, 29, 1) ? 1 : 2) * hour;
    const start = Date.UTC(2026, 2, 28, 23);
    expect(timeTicks(start, start + 4 * hour, 6, berlin).map((at) => (at - start) / hour)).toEqual([
      0, 1, 2, 3, 4,
    ]);
  });
  test("are one for an empty range", () => {
    expect(timeTicks(from, from)).toEqual([from]);
  });
});
