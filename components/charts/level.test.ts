import type { AgentView, AppliedThreshold } from "@plimsoll/protocol/api";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Levelled, levelBarLayout, levelState } from "./level.ts";

const at = "2026-11-20T10:00:00Z";
const thresholds: AppliedThreshold[] = [
  { name: "warning", label: "15%", tokens: 150_000, source: "policy" },
  { name: "ceiling", label: "20%", tokens: 200_000, source: "policy" },
  { name: "soft", label: "70%", tokens: 700_000, source: "policy" },
];
const line = (tokens: number): AgentView["line"] => ({
  threshold: "ceiling",
  tokens,
  kind: "ceiling",
  source: "policy",
});
const NO_FORECAST: AgentView["forecast"] = {
  reason: "no_trend",
  turns: null,
  growth: null,
  minutes: null,
  end_turns: null,
  end_minutes: null,
};

function agent(context: number | null, peak: number | null = context, window = 1_000_000): Levelled {
  return {
    context_tokens: context,
    window_tokens: window,
    peak: peak === null ? null : { tokens: peak, window_tokens: window, utilization: null, at },
    thresholds,
    line: line(200_000),
    load: context === null ? null : context / 200_000,
    forecast: NO_FORECAST,
  };
}

test("the full width is the window", () => {
  const bar = levelBarLayout(agent(100_000, 125_000));
  expect(bar).toMatchObject({ fill: 0.1, peak: 0.125, overflow: false, scale: "window", state: "under" });
  expect(bar.marks.map(({ name, at, isLine }) => [name, at, isLine])).toEqual([
    ["warning", 0.15, false],
    ["ceiling", 0.2, true],
    ["soft", 0.7, false],
  ]);
});

test.each([
  [999_999, false],
  [1_000_000, false],
  [1_000_001, true],
])("a level of %d overflows: %s", (level, overflow) => {
  expect(levelBarLayout(agent(level)).overflow).toBe(overflow);
});

test.each([
  [149_999, "under"],
  [150_000, "warning"],
  [199_999, "warning"],
  [200_000, "over"],
  [949_999, "over"],
  [950_000, "danger"],
  [1_000_000, "danger"],
  [1_000_001, "suspect"],
  [null, "unknown"],
] as const)("a level of %s is %s", (level, state) => {
  expect(levelState(agent(level))).toBe(state);
});

test.each([
  [10, "danger"],
  [11, "over"],
  [null, "over"],
] as const)("with %s turns to the end of the window, an agent past its line is %s", (end_turns, state) => {
  expect(levelState({ ...agent(300_000), forecast: { ...NO_FORECAST, reason: "over", end_turns } })).toBe(
    state,
  );
});

describe("without a window size", () => {
  const unknown = (level: number | null) => ({ ...agent(level), window_tokens: null });
  test("the line is at 80% of the bar", () => {
    const bar = levelBarLayout({ ...unknown(100_000), thresholds: thresholds.slice(0, 2) });
    expect(bar).toMatchObject({ scale: "line", fill: 0.4, state: "under" });
    expect(bar.marks.map(({ at }) => at)).toEqual([0.6, 0.8]);
    expect(levelBarLayout(unknown(250_001)).overflow).toBe(true);
  });
  test("and without a line, the bar compares the level with its own peak", () => {
    const bar = levelBarLayout({ ...unknown(41_000), ...NO_LINE, peak: agent(82_000).peak });
    expect(bar).toMatchObject({ scale: "peak", marks: [], fill: 0.4, peak: 0.8, state: "unknown" });
  });
  test("the bar is empty without a token count", () => {
    expect(levelBarLayout({ ...unknown(null), ...NO_LINE })).toMatchObject({ fill: 0, peak: null });
  });
});

const NO_LINE = { thresholds: [], line: null, load: null };

test("the label of the line wins over a colliding threshold label", () => {
  const bar = levelBarLayout({
    ...agent(1000, 1000, 200_000),
    thresholds: [
      { name: "soft", label: "82%", tokens: 164_000, source: "policy" },
      { name: "hard", label: "83%", tokens: 166_000, source: "policy" },
    ],
    line: { threshold: "hard", tokens: 166_000, kind: "hard", source: "policy" },
  });
  expect(bar.marks.map(({ showLabel }) => showLabel)).toEqual([false, true]);
});

test("labels near the end of the bar stand left of their mark", () => {
  const bar = levelBarLayout({
    ...agent(1000, 1000, 200_000),
    thresholds: [
      { name: "warning", label: "80%", tokens: 160_000, source: "default" },
      { name: "hard", label: "100%", tokens: 200_000, source: "default" },
    ],
  });
  expect(bar.marks.map(({ labelSide }) => labelSide)).toEqual(["right", "left"]);
});

test("every level, peak and line stays on the bar", () => {
  fc.assert(
    fc.property(
      fc.option(fc.nat(2_000_000)),
      fc.option(fc.nat(2_000_000)),
      fc.integer({ min: 1, max: 2_000_000 }),
      (level, peak, window) => {
        const bar = levelBarLayout(agent(level, peak, window));
        expect(bar.fill).toBeGreaterThanOrEqual(0);
        expect(bar.fill).toBeLessThanOrEqual(1);
        for (const mark of bar.marks) expect(mark.at).toBeLessThanOrEqual(1);
        expect(bar.overflow).toBe((level ?? 0) > window);
      },
    ),
  );
});
