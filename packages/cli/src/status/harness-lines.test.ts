import type { ObservedHarnessLine } from "@plimsoll/protocol/api";
import { expect, test } from "vitest";
import { painter } from "../terminal.ts";
import { fleetAgent } from "../testing/fleet.ts";
import { harnessLineLines } from "./harness-lines.ts";

const plain = painter(false);
const agent = (harness: string, given = {}) =>
  fleetAgent({
    harness,
    model: "opus",
    window_tokens: 200_000,
    harness_line: { tokens: 167_000, basis: "computed" },
    ...given,
  });
const seen = (harness: string, given: Partial<ObservedHarnessLine> = {}): ObservedHarnessLine => ({
  harness,
  model: "opus",
  window_tokens: 200_000,
  window_source: "reported",
  sub_agents: false,
  line: { tokens: 167_000, basis: "computed" },
  judged_by: null,
  observed: {
    falls: 12,
    of: 12,
    lowest: 161_000,
    highest: 168_000,
    median: 165_000,
    last_at: "2026-11-20T10:00:00.000Z",
  },
  verdict: "agrees",
  causes: [],
  ...given,
});

test("each harness is listed once, and what is flagged comes first with its causes", () => {
  const early = seen("claude-code@ci", {
    observed: { ...seen("").observed, falls: 3, of: 3, lowest: 85_000, highest: 88_000 },
    verdict: "earlier",
    causes: ["percent_variable"],
  });
  const agents = [
    agent("claude-code@mac"),
    agent("claude-code@mac"),
    agent("claude-code@ci"),
    agent("claude-code@ci", { parent: "main" }),
    agent("my-bot@lab", { harness_line: null }),
  ];
  expect(harnessLineLines(agents, [seen("claude-code@mac"), early], plain)).toEqual([
    "",
    "Where harnesses compact",
    "  claude-code@ci, opus, 200k window: Harness compacts at 167k (computed; observed 3 times, 85k–88k). It compacts earlier than its line of 167,000 tokens says.",
    "    CLAUDE_AUTOCOMPACT_PCT_OVERRIDE lowers the line.",
    "  claude-code@mac, opus, 200k window: Harness compacts at 167k (computed; observed 12 times, 161k–168k).",
    "  claude-code@ci, opus, 200k window, sub-agents: Harness compacts at 167k (computed).",
  ]);
});

test("without a known line there is nothing to say, and a name cannot write to the terminal", () => {
  expect(harnessLineLines([agent("my-bot@lab", { harness_line: null })], [], plain)).toEqual([]);
  expect(harnessLineLines([agent("claude-code@\u001b[2J")], [], plain).join("")).not.toContain("\u001b");
});

test("a long list ends with the number of those left out", () => {
  const agents = Array.from({ length: 13 }, (_, n) => agent(`claude-code@${n}`));
  expect(harnessLineLines(agents, [], plain).at(-1)).toBe("and 3 more");
});
