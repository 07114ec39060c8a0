import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type ContentPart, contentsTree, largestItems } from "./contents-tree.ts";
import type { HeldItem, WindowContents } from "./transcript-parts.ts";

const item = (more: Partial<HeldItem>): HeldItem => ({
  ...{ kind: "user", tokens: 10, turn: 1, at: 0 },
  ...more,
});
const contents = (items: HeldItem[], rest = 0): WindowContents => ({
  ...{ turn: 9, at: 0, rest, items, since: undefined, results: [] },
  level: rest + items.reduce((sum, { tokens }) => sum + tokens, 0),
});
const call = (id: string, tool: string, tokens: number, more: Partial<HeldItem> = {}) =>
  item({ kind: "tool_call", call: id, tool, tokens, ...more });
const result = (id: string, tool: string, tokens: number, more: Partial<HeldItem> = {}) =>
  item({ kind: "tool_result", call: id, tool, tokens, ...more });

const HELD = contents(
  [
    item({ kind: "system", tokens: 40 }),
    item({ tokens: 30 }),
    item({ kind: "assistant", tokens: 20, turn: 2 }),
    call("a", "Read", 5, { file: "src/a.ts", turn: 2 }),
    result("a", "Read", 300, { file: "src/a.ts", turn: 2 }),
    call("b", "Read", 5, { turn: 3 }),
    call("c", "mcp__docs__search", 5, { turn: 3 }),
    result("c", "mcp__docs__search", 100, { turn: 4 }),
    call("d", "mcp__docs__fetch", 5, { turn: 4 }),
    result("e", "", 2),
  ],
  500,
);

describe("what a window holds", () => {
  it("is a tree by kind, tool and MCP server, the largest first", () => {
    const text = (parts: readonly ContentPart[], depth = 0): string[] =>
      parts.flatMap(({ name, tokens, count, parts: below }) => [
        `${"  ".repeat(depth)}${name} ${tokens} ${count}`,
        ...text(below, depth + 1),
      ]);
    expect(text(contentsTree(HELD))).toEqual([
      "not in the recording: tool definitions, system prompt, earlier thinking, images 500 undefined",
      "tools 422 4",
      "  Read 310 2",
      "  MCP server docs 110 2",
      "    search 105 1",
      "    fetch 5 1",
      "  unknown 2 0",
      "instructions 40 1",
      "prompts and notices 30 1",
      "answers 20 1",
    ]);
  });

  it("names its largest things, a call with its result", () => {
    expect(largestItems(HELD).slice(0, 3)).toEqual([
      { name: "Read src/a.ts", tokens: 305, turn: 2 },
      { name: "mcp__docs__search", tokens: 105, turn: 3 },
      { name: "instructions", tokens: 40, turn: 1 },
    ]);
    expect(largestItems(contents(Array.from({ length: 30 }, () => item({}))))).toHaveLength(10);
  });

  it("adds up to the level at every depth", () => {
    const some = fc.array(
      fc.record({
        kind: fc.constantFrom("user", "assistant", "system", "summary", "tool_call", "tool_result"),
        tokens: fc.nat(5_000),
        turn: fc.integer({ min: 1, max: 9 }),
        call: fc.constantFrom("a", "b", undefined),
        tool: fc.constantFrom("Read", "mcp__a__b", "mcp__a__c", "mcp__", undefined),
      }),
    );
    fc.assert(
      fc.property(some, fc.nat(5_000), (items, rest) => {
        const window = contents(items as HeldItem[], rest);
        const sum = (parts: readonly ContentPart[]) => parts.reduce((all, { tokens }) => all + tokens, 0);
        const parts = contentsTree(window);
        expect(sum(parts)).toBe(window.level);
        for (const part of parts) if (part.parts.length > 0) expect(sum(part.parts)).toBe(part.tokens);
      }),
    );
  });
});
