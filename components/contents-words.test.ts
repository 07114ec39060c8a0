import type { HeldToolView, HeldWindowView } from "@plimsoll/protocol/api";
import { describe, expect, it } from "vitest";
import { heldName, heldRows, toolRows } from "./contents-words.ts";

describe("what fills a window, in words", () => {
  it.each([
    [{ kind: "system", tool: null }, "instructions"],
    [{ kind: "tool", tool: null }, "tool calls"],
    [{ kind: "tool", tool: "Read" }, "Read"],
    [{ kind: "tool", tool: "mcp__git__log" }, "log (git)"],
    [{ kind: "tool_definition", tool: "mcp__git__log" }, "definition of log (git)"],
    [{ kind: "tool_definition", tool: null }, "tool definitions"],
  ] as const)("names %j", (held, name) => expect(heldName(held)).toBe(name));

  const part = (tool: string | null, tokens: number, count: number | null = 1) => ({
    ...{ kind: "tool" as const, tool, tokens, count },
  });
  const window = (parts: HeldWindowView["parts"], rest: number): HeldWindowView => ({
    ...{ agent_id: "a", agent: "main", at: "", parts, rest_tokens: rest, largest: [] },
    context_tokens: rest + parts.reduce((sum, { tokens }) => sum + tokens, 0),
  });

  it("puts the tools of a server together, and the rest last", () => {
    const rows = heldRows(
      window([part("mcp__git__log", 300, 2), part("Read", 400), part("mcp__git__show", 200, null)], 100),
    );
    expect(rows).toEqual([
      { name: "MCP server git", tokens: 500, count: 2, share: 0.5 },
      { name: "Read", tokens: 400, count: 1, share: 0.4 },
      { name: "not reported", tokens: 100, count: undefined, share: 0.1 },
    ]);
  });

  it("sums up the smallest of many", () => {
    const rows = heldRows(
      window(
        Array.from({ length: 14 }, (_, n) => part(`tool ${n}`, 100 - n)),
        0,
      ),
    );
    expect(rows).toHaveLength(10);
    expect(rows.at(-1)).toMatchObject({ name: "5 others", tokens: 91 + 90 + 89 + 88 + 87 });
  });

  it("lists the tools of a server below it, of its own harness", () => {
    const row = (harness: string, server: string | null, tool: string | null): HeldToolView => ({
      ...{ harness, server, tool, windows: 1, of_windows: 1, calls: 1, tokens: 1, share: 1 },
    });
    const rows = toolRows([
      row("codex", "git", null),
      row("claude-code", null, "Read"),
      row("codex", "git", "mcp__git__log"),
      row("claude-code", "git", "mcp__git__log"),
    ]);
    expect(rows.map(({ of, tools }) => [of.harness, tools.map(({ harness }) => harness)])).toEqual([
      ["codex", ["codex"]],
      ["claude-code", []],
    ]);
  });
});
