import type { ReplayAssumption, ReplayFigure, ReplayResult, ReplayRunView } from "@plimsoll/protocol/api";
import { expect, it } from "vitest";
import { assumptionText, errorText, filterOf, resultRows, summaryText } from "./replay-text.ts";

const NONE: ReplayFigure = { count: 0, sessions: 0, most: [] };
const run = (more: Partial<ReplayRunView> = {}): ReplayRunView => ({
  crossings: { warning: NONE, ceiling: NONE, soft: NONE, hard: NONE, reserve: NONE },
  maskings: NONE,
  compactions: NONE,
  subticks: NONE,
  restarts: NONE,
  turns_above: NONE,
  kept_out_tokens: 0,
  peak_tokens: 0,
  ...more,
});
const RESPONSES = { maskings: 0, compactions: 0, subticks: 0, restarts: 0 };
const result = (more: Partial<ReplayResult> = {}): ReplayResult => ({
  generation: 1,
  sessions: 2,
  agents: 3,
  turns: 1_200,
  ran: { agents: 3, happened: RESPONSES, told: RESPONSES },
  affected_sessions: 1,
  most_affected: [],
  names: {},
  runs: { happened: run(), current: run(), candidate: run() },
  assumptions: [],
  ...more,
});

it.each([
  [0, 0, "1,200 turns of 3 agents in 2 sessions: the draft changes nothing."],
  [1, 0, "1,200 turns of 3 agents in 2 sessions: the draft changes 1 of them."],
  [
    2,
    41_000,
    "1,200 turns of 3 agents in 2 sessions: the draft changes 2 of them, and keeps out 41k tokens more.",
  ],
  [
    2,
    -5_000,
    "1,200 turns of 3 agents in 2 sessions: the draft changes 2 of them, and sends 5k tokens more.",
  ],
])("says what the draft changes: %d sessions, %d tokens", (affected, kept, text) => {
  const runs = { happened: run(), current: run(), candidate: run({ kept_out_tokens: kept }) };
  expect(summaryText(result({ affected_sessions: affected, runs }))).toBe(text);
});

it("compares the draft with what happened if the current policy ran nowhere", () => {
  const ran = { agents: 0, happened: RESPONSES, told: RESPONSES };
  const runs = {
    happened: run(),
    current: run({ kept_out_tokens: 1 }),
    candidate: run({ kept_out_tokens: 9_000 }),
  };
  expect(summaryText(result({ ran, runs }))).toContain(": the draft keeps out 9k tokens.");
  expect(summaryText(result({ ran }))).toContain(": the draft changes nothing.");
});

it.each([
  [0, {}, {}, "so the current policy is not replayed, and how far this replay is off is unknown."],
  [3, {}, {}, "In this project, agents that ran a policy never responded, and replay told none."],
  [
    3,
    { maskings: 31, restarts: 4, compactions: 10 },
    { maskings: 33, restarts: 4, compactions: 9, subticks: 2 },
    "In this project, replay told 6% too many maskings (33 for 31), 10% too few compactions (9 for 10), too many sub-ticks (2 for 0), exactly as many restarts (4 for 4), in 3 agents that ran a policy.",
  ],
  [
    1,
    { maskings: 1_000 },
    { maskings: 1_001 },
    "In this project, replay told 1% too many maskings (1001 for 1000), in 1 agent that ran a policy. The other 2 ran none that the server knows of.",
  ],
])("tells how far it may be off: %d agents, %o for %o", (agents, happened, told, text) => {
  const ran = { agents, happened: { ...RESPONSES, ...happened }, told: { ...RESPONSES, ...told } };
  expect(errorText(result({ ran }))).toContain(text);
});

it("leaves out thresholds that nobody crosses", () => {
  expect(resultRows(result()).map(({ name }) => name)).not.toContain("ceiling crossed");
  const crossings = { ...run().crossings, ceiling: { count: 2, sessions: 1, most: [] } };
  const runs = { happened: run(), current: run(), candidate: run({ crossings }) };
  expect(resultRows(result({ runs }))[0]).toMatchObject({
    name: "ceiling crossed",
    figures: { happened: NONE, candidate: { count: 2 } },
  });
});

const ASSUMED: ReplayAssumption = {
  family: "phantom",
  window_tokens: 200_000,
  response: "compacted",
  unit: "tokens",
  value: 30_400,
  n: 12,
  source: "window",
};

it.each<[Partial<ReplayAssumption>, string]>([
  [{}, "200k window: a compaction leaves 30.4k tokens (measured in this window size, 12 times)"],
  [
    { response: "masked", unit: "added_share", value: 0.946, source: "assumed", n: 0, window_tokens: null },
    "unknown window: masking frees 95% of the tokens added since the last response (assumed: this project has no such history)",
  ],
  [
    { response: "restarted", unit: "level_share", value: 0.2, source: "project", n: 1 },
    "200k window: a restart leaves 20% of the level (measured in other harness families, 1 time)",
  ],
])("names an assumption: %o", (more, text) => {
  expect(assumptionText({ ...ASSUMED, ...more })).toBe(text);
});

it("asks for the agents of a scope, as far as it can be asked for", () => {
  expect(filterOf(undefined)).toEqual({});
  expect(filterOf({ family: "phantom", model: "claude-*" })).toEqual({ family: "phantom" });
  expect(filterOf({ harness: "phantom@vm-3", model: "gpt-5" })).toEqual({
    harness: "phantom@vm-3",
    model: "gpt-5",
  });
});
