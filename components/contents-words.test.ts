import type { HeldToolView, HeldWindowView } from "@plimsoll/protocol/api";
import { describe, expect, it } from "vitest";
import {
  callersText,
  heldName,
  heldRows,
  recentCallsText,
  toolRows,
  toolsInShort,
} from "./contents-words.ts";

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

  const row = (more: Partial<HeldToolView>): HeldToolView => ({
    ...{ harness: "codex", server: null, tool: "Read", windows: 1, of_windows: 1, calls: 1, tokens: 1 },
    ...{ share: 0.1, recent_calls: 3, recent_failed: 0, never_called: false },
    ...more,
  });

  it("lists the tools of a server below it, of its own harness", () => {
    const rows = toolRows([
      row({ server: "git", tool: null }),
      row({ harness: "claude-code" }),
      row({ server: "git", tool: "mcp__git__log" }),
      row({ harness: "claude-code", server: "git", tool: "mcp__git__log" }),
    ]);
    expect(rows.map(({ of, tools }) => [of.harness, tools.map(({ harness }) => harness)])).toEqual([
      ["codex", ["codex"]],
      ["claude-code", []],
    ]);
  });

  it("says in one line what takes most, and what is loaded for nothing", () => {
    const server = row({ server: "git", tool: null, share: 0.24 });
    expect(toolsInShort([server, row({ server: "git", tool: "mcp__git__log" }), row({})])).toBe(
      "Tools in windows: git 24.0%, Read 10.0%",
    );
    const unused = [row({ tool: "Idle", never_called: true }), row({ tool: "Web", never_called: true })];
    expect(toolsInShort([server, row({ harness: "phantom" }), ...unused])).toBe(
      "Tools in windows: git 24.0%, Idle 10.0%, Web 10.0% of codex · Read 10.0% of phantom · 2 loaded and never called in 30 days",
    );
  });

  it("says never only of what cannot have been called", () => {
    const said = (recent_calls: number | null, never_called = false) =>
      recentCallsText(row({ recent_calls, never_called }));
    expect([said(1_200), said(0, true), said(0), said(null)]).toEqual([
      "1,200",
      "never",
      "none told",
      "not told",
    ]);
  });

  it("names the harnesses whose agents do not all name their tools", () => {
    const callers = [
      { harness: "codex", agents: 3, telling: 3 },
      { harness: "phantom", agents: 4, telling: 1 },
      { harness: "ouroboros", agents: 1, telling: 0 },
      { harness: "without-contents", agents: 1, telling: 0 },
    ];
    const tools = ["codex", "phantom", "ouroboros"].map((harness) => row({ harness }));
    const range = { from: "", to: "" };
    expect(callersText({ range, complete: true, tools, callers, windows: [] })).toEqual([
      "Of 4 agents of phantom in 30 days, 1 names the tools that it calls.",
      "No agent of ouroboros names the tools that it calls.",
    ]);
  });
});
