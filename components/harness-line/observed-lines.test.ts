import type { ObservedHarnessLine } from "@plimsoll/protocol/api";
import { expect, test } from "vitest";
import { observedLines, observedOf } from "./observed-lines.ts";

const line = (given: Partial<ObservedHarnessLine>): ObservedHarnessLine => ({
  harness: "claude-code@mac",
  model: "opus",
  window_tokens: 200_000,
  window_source: "reported",
  sub_agents: false,
  line: { tokens: 167_000, basis: "computed" },
  judged_by: null,
  observed: {
    falls: 3,
    of: 3,
    lowest: 161_000,
    highest: 168_000,
    median: 165_000,
    last_at: "2026-11-20T10:00:00.000Z",
  },
  verdict: "agrees",
  causes: [],
  ...given,
});
const agent = { model: "opus", window_tokens: 200_000, parent: null };

test("an agent has the observation of its own harness, model, window size and kind", () => {
  const own = line({});
  const lines = observedLines([
    own,
    line({ harness: "claude-code@ci" }),
    line({ model: "haiku" }),
    line({ window_tokens: 1_000_000 }),
    line({ window_tokens: null }),
    line({ sub_agents: true }),
  ]);
  expect(observedOf(lines, "claude-code@mac", agent)).toBe(own);
  expect(observedOf(lines, "claude-code@mac", { ...agent, parent: "main" })?.sub_agents).toBe(true);
  expect(observedOf(lines, "claude-code@mac", { ...agent, window_tokens: null })?.window_tokens).toBeNull();
  expect(observedOf(lines, "claude-code@mac", { ...agent, model: null })).toBeUndefined();
  expect(observedOf(lines, "codex@mac", agent)).toBeUndefined();
});

test("names that hold quotes and commas are not confused", () => {
  const lines = observedLines([line({ harness: 'a","b', model: "c" })]);
  expect(observedOf(lines, "a", { ...agent, model: 'b","c' })).toBeUndefined();
});
