import type { PolicyEffectView } from "@plimsoll/protocol/api";
import { expect, it } from "vitest";
import { effectText, verdictText } from "./effect-text.ts";

const effect: PolicyEffectView = {
  ...{ harness: "claude-code", model: "claude-opus-4-6", ceiling_before: 200_000, ceiling: 120_000 },
  estimate: { change: -0.03, low: -0.045, high: -0.012 },
  before: { sessions: 85, rate: 0.0912 },
  after: { sessions: 92, rate: 0.0604 },
  measured: { change: -0.0308, low: -0.0421, high: -0.0198 },
  verdict: "met",
};
const early = {
  ...effect,
  verdict: "too_early",
  after: { sessions: 3, rate: null },
  measured: null,
} as const;

it("says what was measured beside what was estimated", () => {
  expect(effectText(effect)).toBe(
    "Ceiling 200k to 120k tokens: failed tool calls went from 9.1% to 6% of calls (−4.2 to −2 points, 85 and 92 sessions). Estimated: −4.5 to −1.2 points.",
  );
  expect(effectText({ ...effect, estimate: null, ceiling_before: null })).toBe(
    "Ceiling 120k tokens: failed tool calls went from 9.1% to 6% of calls (−4.2 to −2 points, 85 and 92 sessions). Nothing was estimated: before it, failed calls were not certainly more above that level.",
  );
  expect(effectText(early)).toBe(
    "Ceiling 200k to 120k tokens: judged with 30 sessions before it and 30 after it. There are 85 and 3.",
  );
});

it.each<[PolicyEffectView, string]>([
  [effect, "met the estimate"],
  [{ ...effect, verdict: "missed" }, "missed the estimate"],
  [{ ...effect, estimate: null }, "fewer failed calls"],
  [{ ...effect, verdict: "missed", estimate: null }, "more failed calls"],
  [{ ...effect, verdict: "unclear" }, "not certain"],
  [early, "too early to judge"],
])("names the verdict", (one, text) => {
  expect(verdictText(one)).toBe(text);
});
