import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { DEFAULT_THRESHOLDS, lineOf, loadOf, THRESHOLD_NAMES, thresholdTokens } from "./threshold-rules.ts";
import { Thresholds, ThresholdValue, type ThresholdValue as Value } from "./thresholds.ts";

const OFF = { warning: null, ceiling: null, soft: null, hard: null, reserve: null } satisfies Thresholds;

describe("a threshold in tokens", () => {
  test.each<[string, Parameters<typeof thresholdTokens>, number | undefined]>([
    ["off", ["warning", null, 200_000], undefined],
    ["a share", ["warning", "15%", 200_000], 30_000],
    ["a share of a fraction", ["hard", "90.5%", 200_000], 181_000],
    ["a share of an unknown window", ["warning", "15%", undefined], undefined],
    ["a share above its floor", ["ceiling", { percent: 20, floor: 30_000 }, 200_000], 40_000],
    ["a share below its floor", ["ceiling", { percent: 20, floor: 30_000 }, 100_000], 30_000],
    ["a floor above the window", ["ceiling", { percent: 20, floor: 30_000 }, 16_000], 16_000],
    [
      "a share with a floor of an unknown window",
      ["ceiling", { percent: 20, floor: 30_000 }, undefined],
      undefined,
    ],
    ["reserve with a floor", ["reserve", { percent: 10, floor: 30_000 }, 200_000], 170_000],
    ["a count needs no window", ["ceiling", 150_000, undefined], 150_000],
    ["a count may exceed the window", ["ceiling", 300_000, 200_000], 300_000],
    ["negative: tokens that must stay free", ["hard", -20_000, 200_000], 180_000],
    ["negative, unknown window", ["hard", -20_000, undefined], undefined],
    ["negative, more than the window", ["hard", -300_000, 200_000], 0],
    ["reserve of a share", ["reserve", "10%", 200_000], 180_000],
    ["reserve of a count", ["reserve", 20_000, 200_000], 180_000],
    ["reserve, negative means the same", ["reserve", -20_000, 200_000], 180_000],
    ["reserve, unknown window", ["reserve", 20_000, undefined], undefined],
  ])("%s", (_, given, tokens) => {
    expect(thresholdTokens(...given)).toBe(tokens);
  });

  test("of a share lies within the window", () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...THRESHOLD_NAMES),
        fc.integer({ min: 0, max: 100 }),
        fc.integer({ min: 1 }),
        (name, share, window) => {
          const tokens = thresholdTokens(name, `${share}%`, window)!;
          expect(tokens).toBeGreaterThanOrEqual(0);
          expect(tokens).toBeLessThanOrEqual(window);
        },
      ),
    );
  });
});

test.each<[unknown, boolean]>([
  [null, true],
  ["15%", true],
  ["0%", true],
  ["12.5%", true],
  ["100%", true],
  ["100.0%", true],
  [150_000, true],
  [-20_000, true],
  [{ percent: 20, floor: 30_000 }, true],
  [{ percent: 0, floor: 30_000 }, false],
  [{ percent: 20 }, false],
  [{ percent: 20, floor: 30_000, cap: 1 }, false],
  ["100.5%", false],
  ["150%", false],
  ["15", false],
  ["15 %", false],
  ["-5%", false],
  ["%", false],
  [0.15, false],
  [Number.NaN, false],
  [true, false],
])("the policy value %s is accepted: %s", (value, accepted) => {
  expect(ThresholdValue.safeParse(value).success).toBe(accepted);
});

describe("the line", () => {
  test.each<
    [string, Partial<Record<keyof Thresholds, Value>>, number | undefined, ReturnType<typeof lineOf>]
  >([
    [
      "is the ceiling when set",
      { ceiling: "20%", hard: "90%", reserve: 10_000 },
      200_000,
      { threshold: "ceiling", tokens: 40_000 },
    ],
    ["else hard", { hard: "90%", reserve: 10_000 }, 200_000, { threshold: "hard", tokens: 180_000 }],
    ["else the reserve", { reserve: 10_000 }, 200_000, { threshold: "reserve", tokens: 190_000 }],
    ["is never warning or soft", { warning: "15%", soft: "70%" }, 200_000, undefined],
    ["needs a window for a share", { ceiling: "20%" }, undefined, undefined],
    [
      "falls to the next that needs no window",
      { ceiling: "20%", hard: 180_000 },
      undefined,
      { threshold: "hard", tokens: 180_000 },
    ],
    [
      "is never at nothing",
      { ceiling: -300_000, hard: "90%" },
      200_000,
      { threshold: "hard", tokens: 180_000 },
    ],
  ])("%s", (_, set, window, line) => {
    expect(lineOf({ ...OFF, ...set }, window)).toEqual(line);
  });
  test("the defaults are those of the source designs", () => {
    expect(DEFAULT_THRESHOLDS).toEqual({
      warning: "15%",
      ceiling: "20%",
      soft: "70%",
      hard: "90%",
      reserve: null,
    });
    expect(Thresholds.parse(DEFAULT_THRESHOLDS)).toEqual(DEFAULT_THRESHOLDS);
  });
});

test("load is the share of the line, may exceed 1, and is unknown when either side is", () => {
  const line = { threshold: "hard" as const, tokens: 40_000 };
  expect(loadOf(30_000, line)).toBe(0.75);
  expect(loadOf(60_000, line)).toBe(1.5);
  expect(loadOf(undefined, line)).toBeUndefined();
  expect(loadOf(30_000, undefined)).toBeUndefined();
});
