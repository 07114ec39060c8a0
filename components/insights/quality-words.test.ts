import type { QualityGroupView, QualitySplitView } from "@plimsoll/protocol/api";
import { describe, expect, it } from "vitest";
import { bandText, differenceText, groupText, rateText } from "./quality-words.ts";

const split = (more: Partial<QualitySplitView> = {}): QualitySplitView => ({
  ...{ at: 200_000, sessions: 142, rate_below: 0.062, difference: 0.05, low: 0.041, high: 0.059 },
  verdict: "rises",
  ...more,
});
const band = (from: number, calls: number) => ({
  ...{ from, to: null, sessions: 50, calls, rate: 0.1, expected_rate: 0.1 },
});
const group = (more: Partial<QualityGroupView> = {}): QualityGroupView => ({
  ...{ harness: "claude-code", model: "m", sessions: 200, calls: 9_000, rate: 0.07 },
  ...{ levels: [band(0, 5_000), band(20_000, 4_000)], shares: [], share_splits: [] },
  ...{ level_splits: [split()], clearest: null },
  ...more,
});

describe("a group in words", () => {
  it.each<[string, Partial<QualityGroupView>, string]>([
    [
      "a rise",
      { clearest: split() },
      "Failed tool calls rise from 6.2% to 11% of calls from 200k tokens on (142 sessions, 4.1 to 5.9 points).",
    ],
    [
      "too few sessions",
      { level_splits: [split({ verdict: "few_sessions" })] },
      "Too few sessions: a comparison needs 30 with calls below and above a level.",
    ],
    [
      "one level",
      { levels: [band(0, 9)] },
      "All calls were made at about the same level, so levels cannot be compared.",
    ],
    [
      "a fall",
      { level_splits: [split({ verdict: "falls" })] },
      "Failed tool calls become fewer at higher levels, and at none more.",
    ],
    [
      "nothing certain",
      { level_splits: [split({ verdict: "unclear" }), split({ verdict: "few_sessions" })] },
      "Failed tool calls are not certainly more at any level: within a session, and at the same place in it, full and empty windows do not differ.",
    ],
  ])("%s", (_, more, text) => {
    expect(groupText(group(more), "failed")).toBe(text);
  });
  it("says of requests that they are no calls", () => {
    expect(groupText(group({ clearest: split() }), "retried")).toContain(
      "11% of requests from 200k tokens on",
    );
  });
});

it("rates and differences are written as people read them", () => {
  expect([null, 0, 0.0004, 0.0625, 0.1, 0.284].map(rateText)).toEqual([
    "—",
    "0%",
    "0%",
    "6.3%",
    "10%",
    "28%",
  ]);
  expect(differenceText({ low: -0.0123, high: 0.2 })).toBe("−1.2 to +20");
  expect(differenceText({ low: -0.0004, high: 0.0004 })).toBe("0 to 0");
});

it("bands are named by tokens and by share of the line", () => {
  expect(bandText({ from: 0, to: 20_000 }, "level")).toBe("below 20k");
  expect(bandText({ from: 20_000, to: 50_000 }, "level")).toBe("20k to 50k");
  expect(bandText({ from: 400_000, to: null }, "level")).toBe("400k or more");
  expect(bandText({ from: 0.9, to: 1 }, "share")).toBe("90% to 100%");
  expect(bandText({ from: 1, to: null }, "share")).toBe("100% or more");
});
