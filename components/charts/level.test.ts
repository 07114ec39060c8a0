import type { AgentView, AppliedThreshold } from "@plimsoll/protocol/api";
import { expect, test } from "vitest";
import { type Levelled, levelState } from "./level.ts";

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

function agent(context: number | null): Levelled {
  return {
    context_tokens: context,
    window_tokens: 1_000_000,
    thresholds,
    line: line(200_000),
    forecast: NO_FORECAST,
  };
}

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

test("without a line, an agent has no state to show", () => {
  expect(levelState({ ...agent(100_000), window_tokens: null, line: null, thresholds: [] })).toBe("unknown");
});
