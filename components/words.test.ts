import type { AgentView, BoundaryView } from "@plimsoll/protocol/api";
import { expect, test } from "vitest";
import {
  boundaryLabel,
  boundaryText,
  cacheText,
  crossingText,
  forecastGoal,
  forecastReason,
  forecastText,
  lastFallText,
  levelText,
  lineName,
  lineNote,
  lineTitle,
  recentText,
  rowHint,
  shortCacheText,
  sourceNote,
  titleOf,
  windowText,
} from "./words.ts";

const at = "2026-11-20T10:00:00Z";

function boundary(type: string, more: Partial<BoundaryView> = {}): BoundaryView {
  return {
    id: "b",
    agent_id: "a",
    agent: "main",
    type,
    explains_fall: true,
    inferred: false,
    hint: null,
    at,
    window: 0,
    tokens_before: 211_480,
    tokens_after: 168_900,
    reclaimed_tokens: 42_580,
    detail: {},
    ...more,
  };
}

test.each([
  [{ reason: "rising", turns: 4, growth: 2100 }, "4 turns", "to the line"],
  [{ reason: "rising", turns: 4, minutes: 6.4 }, "4 turns · 6 min", "to the line"],
  [{ reason: "rising", turns: 1, minutes: 0.4 }, "1 turn · <1 min", "to the line"],
  [{ reason: "rising", turns: 50, minutes: 150 }, "50 turns · 3 h", "to the line"],
  [{ reason: "rising", turns: 61, growth: 2, minutes: 9 }, "60+ turns", "to the line"],
  [{ reason: "over" }, "over the line", ""],
  [{ reason: "over", end_turns: 12, end_minutes: 20 }, "12 turns · 20 min", "to the window's end"],
  [{ reason: "steady", growth: 1 }, "steady", ""],
  [{ reason: "no_trend" }, "no trend", ""],
  [{ reason: "no_line" }, "—", ""],
] as const)("forecast %o reads %s %s", (given, words, goal) => {
  const forecast = {
    turns: null,
    growth: null,
    minutes: null,
    end_turns: null,
    end_minutes: null,
    ...given,
  };
  expect(forecastText(forecast)).toBe(words);
  expect(forecastGoal(forecast)).toBe(goal);
  expect(forecastReason(forecast)).not.toBe("");
});

test.each([
  ["ceiling", "acknowledged", "The line is the agent's ceiling, at 1,000 tokens. The harness acknowledged"],
  ["compaction", "default", "The line is where the harness compacts by itself, at 1,000 tokens. No policy"],
  ["window_end", "default", "The line is the end of the window, at 1,000 tokens. No policy"],
] as const)("a line of kind %s, %s, is named", (kind, source, words) => {
  const line = { threshold: "ceiling", tokens: 1_000, kind, source } as const;
  expect(lineTitle(line)).toContain(words);
  expect(lineName(line)).not.toBe("");
});

test("the last fall names its type, and its tokens if they are known", () => {
  expect(lastFallText({ type: "compacted", at, reclaimed_tokens: 92_000 })).toEqual(["compacted", "−92k"]);
  expect(lastFallText({ type: "unexplained", at, reclaimed_tokens: null })).toEqual(["unexplained", ""]);
});

test("a sparkline has a text alternative", () => {
  expect(recentText({ levels: [12_000, 96_000, 4_000], falls: [{ index: 2, type: "subtick" }] })).toBe(
    "Last 3 turns: 12k to 4k tokens, sub-tick",
  );
  expect(recentText({ levels: [], falls: [] })).toBe("No counted turns");
});

test.each([
  [boundary("masked", { detail: { observations: 9 } }), "Masked 9 observations: 211,480 to 168,900"],
  [
    boundary("masked", { detail: { observations: 1 }, tokens_after: null }),
    "Masked 1 observation, from 211,480",
  ],
  [
    boundary("masked", { detail: { observations: 0 }, tokens_after: 212_000 }),
    "Masked nothing, the level did not fall",
  ],
  [boundary("compacted", { detail: { trigger: "auto" } }), "Compacted (auto): 211,480 to 168,900"],
  [
    boundary("subtick", { detail: { tick: 4, sub: 1, handoff_tokens: 9000, reason: "max_context_pct 15" } }),
    "Sub-tick 4.1: 211,480 to 168,900, 9,000 tokens handed over. max_context_pct 15",
  ],
  [
    boundary("subtick", { detail: { tick: 4, sub: 1, handoff_tokens: 9000, reason: "ceiling near" } }),
    "Sub-tick 4.1: 211,480 to 168,900, 9,000 tokens handed over. Ceiling near",
  ],
  [
    boundary("restarted", {
      detail: { number: 2, carryover_turns: 6, reason: "soft limit" },
      tokens_before: null,
      tokens_after: null,
    }),
    "Restarted, session 2, 6 turns carried over. Soft limit",
  ],
  [boundary("cleared"), "Cleared manually: 211,480 to 168,900"],
  [boundary("cleared", { detail: { reason: "/clear" } }), "Cleared manually: 211,480 to 168,900. /clear"],
  [
    boundary("cleared", { detail: { reason: "iteration 2 begins" } }),
    "Cleared: 211,480 to 168,900. Iteration 2 begins",
  ],
  [
    boundary("restarted", { detail: { number: 2, reason: "grace_spent" } }),
    "Restarted, session 2: 211,480 to 168,900. The grace turns ran out",
  ],
  [
    boundary("unexplained", { hint: "truncation_suspected" }),
    "Unexplained fall, possible silent truncation: 211,480 to 168,900",
  ],
  [boundary("unexplained"), "Unexplained fall, no reason reported: 211,480 to 168,900"],
  [
    boundary("withheld", { detail: { response: "restart", reason: "max_restarts" } }),
    "Not restarted: the restart limit is reached",
  ],
  [
    boundary("withheld", { detail: { response: "restart", reason: "no_gain" } }),
    "Not restarted: it would free almost nothing",
  ],
  [
    boundary("withheld", { detail: { response: "compact", reason: "no_gain" } }),
    "Not compacted: the summary would save too little",
  ],
  [
    boundary("output_cut", { detail: { tool: "Bash", characters: 61_204 } }),
    "Cut 61,204 characters out of the output of Bash",
  ],
  [boundary("output_cut", { detail: {} }), "Cut part of the output of a tool"],
  [
    boundary("checkpoint", {
      detail: { characters: 1_240, tokens: 310, context_tokens: 105_000, line_tokens: 117_000 },
    }),
    "Checkpoint, 1,240 characters, 12k tokens below the line",
  ],
  [
    boundary("checkpoint", { detail: { characters: 1, context_tokens: 120_000, line_tokens: 117_000 } }),
    "Checkpoint, 1 character, 3k tokens past the line",
  ],
  [boundary("checkpoint", { detail: { characters: 9 } }), "Checkpoint, 9 characters"],
  [
    boundary("reinjected", { detail: { tokens: 420, checkpoint: true, rules: 3, lines: 1, left_out: 2 } }),
    "After the compaction: the checkpoint, 3 rules, 1 sentence put back, 420 tokens; 2 did not fit",
  ],
  [
    boundary("reinjected", { detail: { tokens: 310, checkpoint: true } }),
    "After the compaction: the checkpoint put back, 310 tokens",
  ],
  [
    boundary("reinjected", { detail: { tokens: 0, checkpoint: false, rules: 0, lines: 0 } }),
    "After the compaction: no rule to put back",
  ],
  [
    boundary("reinjected", { detail: { tokens: 0, checkpoint: false, rules: 0, lines: 0, left_out: 3 } }),
    "After the compaction: nothing put back; 3 did not fit",
  ],
  [
    boundary("prompt_refused", { detail: { context_window: 200_000 } }),
    "The provider refused the prompt: it takes 200,000 tokens",
  ],
  [boundary("prompt_refused", { detail: {} }), "The provider refused the prompt"],
  [boundary("withheld", { detail: { reason: "something newer" } }), "The guard withheld a response"],
  [boundary("wind_down", { detail: { turns_left: 5 } }), "Asked to wind down, 5 turns left"],
  [
    boundary("split_requested", { detail: { phase: "20", sub_phases: [{}, {}], reason: "too big" } }),
    "Asked to split phase 20 into 2. Too big",
  ],
  [boundary("phase", { detail: { phase: "20", status: "done", score: 8 } }), "Phase 20 done, score 8"],
  [boundary("session", { detail: { status: "ended", reason: "done" } }), "Session ended: done"],
  [boundary("something_new"), "something new"],
])("%o reads %s", (view, words) => {
  expect(boundaryText(view)).toBe(words);
});

test.each([
  [boundary("masked", { detail: { observations: 14 } }), "masked 14, −42.6k"],
  [boundary("subtick", { detail: { tick: 4, sub: 1 } }), "sub-tick 4.1"],
  [boundary("unexplained", { reclaimed_tokens: null }), "unexplained"],
])("the marker label of %o is %s", (view, words) => {
  expect(boundaryLabel(view)).toBe(words);
});

test("a crossing names its threshold, direction and origin", () => {
  expect(
    crossingText({
      agent_id: "a",
      agent: "main",
      threshold: "ceiling",
      direction: "up",
      origin: "reported",
      at,
      threshold_tokens: 200_000,
      context_tokens: 211_480,
    }),
  ).toBe("Rose above ceiling (200,000) at 211,480, reported by the harness");
});

test("a share says whose size it is of, unless the harness reported it", () => {
  const line = {
    kind: "compaction",
    threshold: "hard",
    tokens: 100_000,
    share: null,
    source: "default",
  } as NonNullable<AgentView["line"]>;
  expect(sourceNote({ window_source: "reported" })).toBe("");
  expect(sourceNote({ window_source: "catalog" })).toBe(" · catalog");
  expect(lineNote({ line, window_tokens: 400_000, window_source: "observed" })).toBe(" · observed size");
  expect(lineNote({ line, window_tokens: 400_000, window_source: "reported" })).toBe("");
  expect(
    lineNote({ line: { ...line, source: "acknowledged" }, window_tokens: 1, window_source: "catalog" }),
  ).toBe("");
  expect(lineNote({ line: null, window_tokens: 400_000, window_source: "catalog" })).toBe("");
});

test("a window shows its share only if its size is known", () => {
  expect(windowText({ utilization: 0.192, window_tokens: 1_000_000 })).toBe("19.2% of 1M");
  expect(windowText({ utilization: null, window_tokens: 8192 })).toBe("of 8.2k");
  expect(windowText({ utilization: null, window_tokens: null })).toBe("size unknown");
});

test("a session without a title is named by its ID", () => {
  expect(titleOf({ title: " ", session: "s-9" })).toBe("s-9");
  expect(titleOf({ title: "work", session: "s-9" })).toBe("work");
});

test("the text alternative of a hull lists every mark, and the share of the window", () => {
  const agent = {
    context_tokens: 192_004,
    window_tokens: 1_000_000,
    utilization: 0.192004,
    line: { threshold: "ceiling", tokens: 200_000, kind: "ceiling" },
    thresholds: [
      { name: "warning", label: "15%", tokens: 150_000 },
      { name: "ceiling", label: "20%", tokens: 200_000 },
    ],
    peak: { tokens: 211_480, window_tokens: null, utilization: null, at },
  } as AgentView;
  expect(levelText(agent)).toBe(
    "192,004 tokens, line (ceiling) at 200,000, warning at 150,000, peak 211,480, window of 1,000,000, 19.2% used",
  );
  expect(levelText({ ...agent, utilization: null, window_tokens: null })).not.toContain("window");
});

test("a row tooltip shows exact values", () => {
  const at = { last_at: "2026-11-20T10:41:18.000Z" };
  expect(
    rowHint(
      ["billing", null, "phantom@vm-3"],
      { ...at, context_tokens: 192_015, window_tokens: 1_000_000 },
      "UTC",
    ),
  ).toBe("billing · phantom@vm-3\n192,015 of 1,000,000 tokens\nlast turn 2026-11-20 10:41:18 UTC");
  expect(rowHint(["a"], { ...at, context_tokens: 900 }, "UTC").split("\n")[1]).toBe("900 tokens");
  expect(rowHint(["a"], { ...at, context_tokens: null, window_tokens: 8 }, "UTC").split("\n")[1]).toBe(
    "not counted",
  );
});

test.each([
  [4.2, 0.9, "cache cold in 5 min", undefined],
  [3, 0.9, "cache cold in 3 min", "cold in 3 min"],
  [0.01, 0.9, "cache cold in 1 min", "cold in 1 min"],
  [0, 0.5, "compact now: the cache is cold anyway", "cache cold"],
  [-60, 0.49, "cache cold", undefined],
  [-1, null, "cache cold", undefined],
])("a cache that is cold in %s minutes, at a load of %s", (minutes, load, text, short) => {
  const now = Date.parse(at);
  const cache = { tokens: 90_000, cold_at: new Date(now + minutes * 60_000).toISOString() };
  expect(cacheText({ cache, load }, now)).toBe(text);
  expect(shortCacheText({ cache, load }, now)).toBe(short);
  expect(cacheText({ cache: null, load }, now)).toBeUndefined();
});
