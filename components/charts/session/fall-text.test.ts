import type { BoundaryView } from "@plimsoll/protocol/api";
import { describe, expect, it } from "vitest";
import { keptText, sourceOfFall } from "./fall-text.ts";

const fall = (
  type: string,
  detail: BoundaryView["detail"] = {},
  more: Partial<BoundaryView> = {},
): BoundaryView => ({
  id: "b1",
  agent_id: "a",
  agent: "main",
  type,
  explains_fall: true,
  inferred: false,
  hint: null,
  at: "2026-11-24T10:00:00Z",
  window: 0,
  tokens_before: 30_000,
  tokens_after: 12_000,
  reclaimed_tokens: 18_000,
  detail,
  ...more,
});

describe("the card of a fall", () => {
  it.each([
    [
      "masked",
      { tools: ["bash", "read"] },
      "All messages, with placeholders for old tool results of bash, read.",
    ],
    ["masked", { tools: [1, null] }, "All messages, with placeholders for old tool results."],
    ["compacted", { sections: 1 }, "A summary of the older messages, in 1 section."],
    ["subtick", { handoff_tokens: 3_000 }, "A handoff note of 3,000 tokens."],
    ["restarted", { carryover_turns: 4 }, "The last 4 turns."],
    ["restarted", { carryover_turns: 0 }, "Nothing: the agent starts afresh."],
    ["restarted", { carryover_turns: "many" }, "Unknown: the harness does not say."],
    ["cleared", {}, "Nothing: the agent starts afresh."],
  ])("%s %j: what was kept", (type, detail, kept) => {
    expect(keptText(fall(type, detail))).toBe(kept);
  });

  it("claims nothing about an inferred fall", () => {
    expect(keptText(fall("unexplained", {}, { inferred: true }))).toBe(
      "Unknown. The next turn had 12,000 tokens.",
    );
    expect(keptText(fall("restarted", {}, { inferred: true, tokens_after: null }))).toBe("Unknown.");
  });

  it.each([
    [{ tokens_before: 1, tokens_after: 0 }, "phantom@vm, with both levels."],
    [{ tokens_before: 1 }, "phantom@vm, with the level before it; the next turn shows the level after it."],
    [{ tokens_after: 1 }, "phantom@vm, with the level after it; the turn before shows the level before it."],
    [{}, "phantom@vm, without levels; the turns around it show them."],
  ])("names the source of the levels: %j", (detail, words) => {
    expect(sourceOfFall(fall("masked", detail), "phantom@vm")).toBe(words);
  });

  it("says that nobody reported an inferred fall", () => {
    expect(sourceOfFall(fall("unexplained", {}, { inferred: true }), "x")).toContain(
      "The harness reported no event",
    );
  });
});
