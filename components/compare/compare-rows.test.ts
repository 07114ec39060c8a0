import type { SessionSummary } from "@plimsoll/protocol/api";
import { expect, test } from "vitest";
import { compareRows } from "./compare-rows.ts";

const session: SessionSummary = {
  id: "a",
  session: "a",
  title: null,
  kind: null,
  harness: "phantom@vm",
  machine: null,
  repository: null,
  branch: null,
  person: null,
  status: "ended",
  end_reason: null,
  model: "opus",
  context_tokens: 40_000,
  window_tokens: 200_000,
  utilization: 0.2,
  load: 0.5,
  peak_tokens: 60_000,
  peak_utilization: 0.3,
  turns: 100,
  agents: 1,
  windows: 2,
  masked: 3,
  compacted: 0,
  subticks: 0,
  restarts: 0,
  cleared: 0,
  unexplained: 0,
  reclaimed_tokens: 90_000,
  warnings: 1,
  prompt_tokens: 0,
  cached_tokens: 0,
  estimated_tokens: 0,
  cost_usd: null,
  cost_turns: 0,
  estimated_cost_usd: null,
  estimated_cost_turns: 0,
  first_at: "2026-11-20T10:00:00.000Z",
  last_at: "2026-11-20T10:10:00.000Z",
  tags: [],
  note_excerpt: null,
};
const rowOf = (name: string, b: Partial<SessionSummary>) =>
  compareRows(session, { ...session, ...b }).find((row) => row.name === name);

test.each([
  ["Turns", { turns: 82 }, ["100", "82", "−18"]],
  ["Turns", {}, ["100", "100", "±0"]],
  ["Duration", { last_at: "2026-11-20T10:05:00.000Z" }, ["10 min 0 s", "5 min 0 s", "−5 min 0 s"]],
  ["Peak share of window", { peak_utilization: 0.456 }, ["30.0%", "45.6%", "+15.6%"]],
  ["Current tokens", { context_tokens: null }, ["40k", "—", ""]],
  ["Model", { model: null }, ["opus", "—", ""]],
  ["Falls: unexplained", { unexplained: 2 }, ["0", "2", "+2"]],
])("%s with %j reads %j", (name, b, [first, second, change]) => {
  expect(rowOf(name, b)).toEqual({ name, a: first, b: second, change });
});

test("reasons that neither session fell for are left out", () => {
  expect(rowOf("Falls: cleared", {})).toBeUndefined();
  expect(rowOf("Falls: masked", { masked: 0 })).toMatchObject({ a: "3", b: "0" });
});
