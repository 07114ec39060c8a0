import "../packages/guard/src/testing/clean-environment.ts";

import { describe, expect, it } from "vitest";
import { CONTENDERS } from "./compare/contenders.ts";
import { editedContext } from "./compare/context-editing.ts";
import { comparedSession } from "./compare/session.ts";
import { comparedCost } from "./guard-compare.ts";

const session = comparedSession(1);
const costOf = (name: string, windowTokens: number) =>
  comparedCost(CONTENDERS.find((one) => one.name === name)!, session, windowTokens);

describe("a session of 120 tool turns in a window of 16,000 tokens", () => {
  it("keeps every fact with the guard, without a refusal, and most of the prefix", async () => {
    const guard = await costOf("guard", 16_000);
    expect(guard).toMatchObject({ refused: 0, userKept: 1, toolReachable: 1, errors: [] });
    expect(guard.peak).toBeLessThanOrEqual(15_000);
    for (const name of [
      "AI SDK pruneMessages",
      "LangChain summarizationMiddleware",
      "Anthropic context editing",
    ]) {
      const other = await costOf(name, 16_000);
      expect(guard.refused, name).toBeLessThanOrEqual(other.refused);
      expect(guard.userKept, name).toBeGreaterThanOrEqual(other.userKept);
      expect(guard.prefixKept, name).toBeGreaterThan(other.prefixKept - 0.05);
    }
  });

  it("does not fit without a guard", async () => {
    const cost = await costOf("no guard", 16_000);
    expect(cost.refused).toBeGreaterThan(cost.calls / 2);
    expect(cost).toMatchObject({ actions: 0, prefixKept: 1 });
  });

  it("is the same for the same seed", () => {
    expect(comparedSession(1)).toEqual(session);
    expect(comparedSession(2)).not.toEqual(session);
    expect(session.userFacts).toHaveLength(10);
    expect(session.toolFacts).toHaveLength(10);
  });
});

describe("context editing", () => {
  const messages = ["a", "b", "c", "d", "e"].flatMap((id) => [
    {
      role: "assistant",
      content: [{ type: "tool_use", id, name: id === "b" ? "memory" : "read", input: {} }],
    },
    { role: "user", content: [{ type: "tool_result", tool_use_id: id, content: "x".repeat(100) }] },
  ]);
  const length = (list: readonly object[]) => JSON.stringify(list).length;
  const edit = (options: object) =>
    editedContext(
      { messages, context_management: { edits: [{ type: "clear_tool_uses_20250919", ...options }] } },
      length,
    );
  const cleared = (options: object) =>
    (edit(options)?.messages ?? []).flatMap(({ content }) =>
      (content as { tool_use_id?: string; content?: string }[])
        .filter((block) => block.content?.startsWith("[Old"))
        .map((block) => block.tool_use_id),
    );
  const trigger = { type: "input_tokens", value: 500 };

  it("clears all but the three newest results above its trigger", () => {
    expect(edit({})).toBeUndefined();
    expect(cleared({ trigger })).toEqual(["a", "b"]);
    expect(cleared({ trigger: { type: "tool_uses", value: 4 } })).toEqual(["a", "b"]);
    expect(edit({ trigger: { type: "tool_uses", value: 5 } })).toBeUndefined();
  });

  it("keeps the number of results it is configured to, and those of excluded tools", () => {
    expect(cleared({ trigger, keep: { type: "tool_uses", value: 1 } })).toEqual(["a", "b", "c", "d"]);
    expect(cleared({ trigger, exclude_tools: ["memory"] })).toEqual(["a"]);
  });

  it("does nothing if it would clear less than it must", () => {
    expect(edit({ trigger, clear_at_least: { type: "input_tokens", value: 1_000 } })).toBeUndefined();
    expect(edit({ trigger, clear_at_least: { type: "input_tokens", value: 50 } })?.fields).toMatchObject({
      context_management: { applied_edits: [{ cleared_tool_uses: 2 }] },
    });
  });
});
