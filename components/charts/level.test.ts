import type { AppliedThreshold } from "@plimsoll/protocol";
import { describe, expect, test } from "vitest";
import { type Levelled, levelBarLayout, levelState } from "./level.ts";

const at = "2026-11-20T10:00:00Z";
const thresholds: AppliedThreshold[] = [
  { name: "warning", label: "15%", tokens: 150_000, source: "policy" },
  { name: "ceiling", label: "20%", tokens: 200_000, source: "policy" },
  { name: "soft", label: "70%", tokens: 700_000, source: "policy" },
];

function agent(context: number | null, peak: number | null = context): Levelled {
  return {
    context_tokens: context,
    peak: peak === null ? null : { tokens: peak, window_tokens: 1_000_000, utilization: null, at },
    thresholds,
    line: { threshold: "ceiling", tokens: 200_000 },
    load: context === null ? null : context / 200_000,
  };
}

test("the line is at 80% of the bar for any window", () => {
  const bar = levelBarLayout(agent(100_000, 125_000));
  expect(bar).toMatchObject({ fill: 0.4, peak: 0.5, overflow: false, scaled: true, state: "under" });
  expect(bar.marks.map(({ name, at, isLine }) => [name, at, isLine])).toEqual([
    ["warning", 0.6, false],
    ["ceiling", 0.8, true],
  ]);
});

test.each([
  [250_000, false],
  [250_001, true],
  [900_000, true],
])("a level of %d overflows: %s", (level, overflow) => {
  expect(levelBarLayout(agent(level)).overflow).toBe(overflow);
  expect(levelBarLayout(agent(level)).fill).toBe(1);
});

test.each([
  [149_999, "under"],
  [150_000, "warning"],
  [199_999, "warning"],
  [200_000, "over"],
  [null, "unknown"],
] as const)("a level of %s is %s", (level, state) => {
  expect(levelState(agent(level))).toBe(state);
});

describe("without a line", () => {
  test("the bar compares the level with its own peak", () => {
    const bar = levelBarLayout({ ...agent(41_000, 82_000), thresholds: [], line: null, load: null });
    expect(bar).toMatchObject({ scaled: false, marks: [], fill: 0.4, peak: 0.8, state: "unknown" });
  });
  test("the bar is empty without a token count", () => {
    expect(levelBarLayout({ ...agent(null), thresholds: [], line: null, load: null })).toMatchObject({
      fill: 0,
      peak: null,
    });
  });
});

test("the label of the line wins over a colliding threshold label", () => {
  const bar = levelBarLayout({
    ...agent(1000),
    thresholds: [
      { name: "soft", label: "89%", tokens: 178_000, source: "policy" },
      { name: "hard", label: "90%", tokens: 180_000, source: "policy" },
    ],
    line: { threshold: "hard", tokens: 180_000 },
  });
  expect(bar.marks.map(({ showLabel }) => showLabel)).toEqual([false, true]);
});
