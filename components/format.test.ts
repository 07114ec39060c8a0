import { describe, expect, test } from "vitest";
import {
  ago,
  agoStep,
  axisTime,
  clock,
  compact,
  day,
  duration,
  exact,
  fullTime,
  loadPercent,
  percent,
  plural,
  rangeText,
  shortTime,
  signed,
  within,
} from "./format.ts";

test.each([
  [0, "0"],
  [999, "999"],
  [1000, "1k"],
  [9_449, "9.4k"],
  [32_768, "32.8k"],
  [99_949, "99.9k"],
  [99_950, "100k"],
  [147_250, "147k"],
  [999_499, "999k"],
  [999_960, "1M"],
  [1_000_000, "1M"],
  [1_234_567, "1.2M"],
  [4_100_000_000, "4.1B"],
  [-42_580, "−42.6k"],
])("compact(%d) is %s", (value, text) => {
  expect(compact(value)).toBe(text);
});

test.each([
  [147_250, "147,250"],
  [-42_580, "−42,580"],
])("exact(%d) is %s", (value, text) => {
  expect(exact(value)).toBe(text);
});

test.each([
  [0.2143, "21.4%"],
  [1.32, "132.0%"],
  [0, "0.0%"],
])("percent(%d) is %s", (value, text) => {
  expect(percent(value)).toBe(text);
});

test.each([
  [0.96, "96%"],
  [0.9999, "99%"],
  [1, "100%"],
  [12.5, "1,250%"],
])("loadPercent(%d) is %s", (value, text) => {
  expect(loadPercent(value)).toBe(text);
});

test.each([
  [0, "±0"],
  [2130, "+2,130"],
  [-42_580, "−42,580"],
])("signed(%d) is %s", (value, text) => {
  expect(signed(value)).toBe(text);
});

test("signed accepts a format function", () => {
  expect(signed(-2100, compact)).toBe("−2.1k");
});

test("plural formats the count and picks the form", () => {
  expect(plural(1, "turn")).toBe("1 turn");
  expect(plural(1200, "turn")).toBe("1,200 turns");
  expect(plural(0, "boundary", "boundaries")).toBe("0 boundaries");
});

describe("ago", () => {
  const now = 1_000_000_000;
  test.each([
    [-5_000, "just now", 1_000],
    [1_999, "just now", 1_000],
    [18_000, "18 s ago", 1_000],
    [59_999, "59 s ago", 1_000],
    [60_000, "1 min ago", 10_000],
    [3_600_000, "1 h ago", 60_000],
    [47 * 3_600_000, "47 h ago", 60_000],
    [48 * 3_600_000, "2 d ago", 60_000],
  ])("%d ms is %s", (passed, text, step) => {
    expect(ago(now - passed, now)).toBe(text);
    expect(agoStep(now - passed, now)).toBe(step);
  });
});

test.each([
  [420, "420 ms"],
  [4_250, "4.3 s"],
  [125_000, "2 min 5 s"],
  [7_260_000, "2 h 1 min"],
  [90_000_000, "1 d 1 h"],
])("duration(%d) is %s", (ms, text) => {
  expect(duration(ms)).toBe(text);
});

test.each([
  [-1, "now"],
  [0, "now"],
  [1, "in 1 s"],
  [59_000, "in 59 s"],
  [61_000, "in 2 min"],
  [3 * 3_600_000, "in 3 h"],
  [72 * 3_600_000, "in 3 d"],
])("%d ms before a time it is %s", (left, text) => {
  const now = 1_800_000_000_000;
  expect(within(now + left, now)).toBe(text);
});

describe("times", () => {
  const at = Date.UTC(2026, 10, 20, 23, 41, 18);
  test("use the given time zone", () => {
    expect(fullTime(at, "UTC")).toBe("2026-11-20 23:41:18 UTC");
    expect(fullTime(at, "Europe/Berlin")).toBe("2026-11-21 00:41:18 GMT+1");
    expect(clock(at, "Asia/Kolkata")).toBe("05:11:18");
    expect(shortTime(at, "UTC")).toBe("20 Nov 23:41");
    expect(day(at, "UTC")).toBe("20 November 2026");
    expect(day(at, "Europe/Berlin")).toBe("21 November 2026");
  });
  test("axis ticks show the time, the day at midnight, and the month in long spans", () => {
    const midnight = Date.UTC(2026, 10, 20);
    expect(axisTime(at, 86_400_000, "UTC")).toBe("23:41:18");
    expect(axisTime(midnight + 43_200_000, 3 * 86_400_000, "UTC")).toBe("12:00");
    expect(axisTime(midnight, 86_400_000, "UTC")).toBe("20 Nov");
    expect(axisTime(midnight, 86_400_000, "Europe/Berlin")).toBe("01:00");
    expect(axisTime(at, 400 * 86_400_000, "UTC")).toBe("Nov 2026");
  });
  test("a range shows years unless both ends are in the current year", () => {
    const day = 86_400_000;
    const now = at + day;
    expect(rangeText(at - day, at, now, "UTC")).toBe("19 Nov 23:41 – 20 Nov 23:41");
    expect(rangeText(at - 400 * day, at, now, "UTC")).toBe("16 Oct 2025 23:41 – 20 Nov 2026 23:41");
    expect(rangeText(at - day, at, now + 60 * day, "UTC")).toBe("19 Nov 2026 23:41 – 20 Nov 2026 23:41");
  });
});
