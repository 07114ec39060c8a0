import { estimateTokens } from "@plimsoll/guard/measure";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  CONTENT_KINDS,
  type ContentItem,
  type LineParts,
  type PartsReset,
  partsAtTurns,
  type TurnLevel,
  textTokens,
  windowContents,
} from "./transcript-parts.ts";

const line = (at: number, history: number, tool_output = 0, system = 0): LineParts => ({
  at,
  items: [
    { kind: "user", tokens: history },
    { kind: "tool_result", tokens: tool_output },
    { kind: "system", tokens: system },
  ],
});
const partsAt = (turns: readonly TurnLevel[], lines: readonly LineParts[], resets: readonly PartsReset[]) =>
  partsAtTurns({ turns, lines, resets });
const turn = (at: number, level: number, scale = 1) => ({ key: `t${at}`, at, level, scale });

describe("what fills the window, from a transcript", () => {
  it("is what came before the turn, in the model's own tokens", () => {
    const found = partsAt(
      [turn(10, 1_000), turn(20, 1_000, 1.5)],
      [line(5, 100), line(10, 40), line(15, 0, 200)],
      [],
    );
    expect(found.get("t10")).toEqual({ system: undefined, history: 100, tool_output: 0 });
    expect(found.get("t20")).toEqual({ system: undefined, history: 210, tool_output: 300 });
  });

  it("begins anew after a compaction, and keeps the system prompt", () => {
    const found = partsAt([turn(30, 1_000)], [line(5, 500, 300, 50), line(20, 60)], [{ at: 10 }]);
    expect(found.get("t30")).toEqual({ system: 50, history: 60, tool_output: 0 });
  });

  it("loses the tool output that a microcompaction cleared, and never more than there is", () => {
    const lines = [line(5, 100, 300)];
    const after = (cleared: number) =>
      partsAt([turn(30, 1_000, 2)], lines, [{ at: 10, cleared }]).get("t30")?.tool_output;
    expect([after(200), after(9_999)]).toEqual([400, 0]);
  });

  it("is unknown where the transcript begins in the middle", () => {
    expect(partsAt([turn(10, 140_000)], [line(5, 30)], []).size).toBe(0);
    expect(partsAt([turn(10, 0)], [line(5, 30)], []).size).toBe(0);
  });

  it("never exceeds the level, in any order of lines", () => {
    const at = fc.integer({ min: 0, max: 50 });
    const tokens = fc.integer({ min: 0, max: 5_000 });
    const lines = fc.array(fc.tuple(at, tokens, tokens, tokens).map((parts) => line(...parts)));
    const turns = fc.uniqueArray(
      fc.tuple(at, fc.integer({ min: 0, max: 9_000 })).map(([when, level]) => turn(when, level, 1.12)),
      { selector: ({ key }) => key },
    );
    const resets = fc.array(fc.record({ at, cleared: fc.option(tokens, { nil: undefined }) }));
    fc.assert(
      fc.property(turns, lines, resets, (some, found, ends: PartsReset[]) => {
        const parts = partsAt(some, found, ends);
        for (const { key, level } of some) {
          const { system = 0, history = 0, tool_output = 0 } = parts.get(key) ?? {};
          expect(system + history + tool_output).toBeLessThanOrEqual(level);
        }
        expect(partsAt(some.toReversed(), found, ends)).toEqual(parts);
      }),
    );
  });
});

describe("what the window holds", () => {
  const call = (id: string, tool: string, tokens: number, file?: string): ContentItem => ({
    ...{ kind: "tool_call", call: id, tool, tokens, file },
  });
  const result = (id: string, tokens: number): ContentItem => ({ kind: "tool_result", call: id, tokens });
  const at = (time: number, ...items: ContentItem[]): LineParts => ({ at: time, items });
  const lines = [
    at(1, { kind: "system", tokens: 50 }),
    at(2, { kind: "user", tokens: 100 }),
    at(11, call("a", "Read", 10, "src/a.ts")),
    at(12, result("a", 400)),
    at(21, call("b", "mcp__docs__search", 10)),
    at(22, result("b", 300)),
    at(40, { kind: "user", tokens: 9 }),
  ];
  const turns = [turn(10, 1_000), turn(20, 1_500), turn(30, 2_000)];

  it("is each item with the turn that was sent it first, and the rest of the level", () => {
    const { items, ...window } = windowContents({ turns, lines, resets: [] })!;
    expect(window).toEqual({
      turn: 3,
      at: 30,
      level: 2_000,
      rest: 2_000 - 870,
      since: { answer: 0, added: 9 },
      results: [
        { tool: "Read", tokens: 400 },
        { tool: "mcp__docs__search", tokens: 300 },
      ],
    });
    expect(items.map(({ kind, tool, file, tokens, turn: n }) => [kind, tool, file, tokens, n])).toEqual([
      ["system", undefined, undefined, 50, 1],
      ["user", undefined, undefined, 100, 1],
      ["tool_call", "Read", "src/a.ts", 10, 2],
      ["tool_result", "Read", "src/a.ts", 400, 2],
      ["tool_call", "mcp__docs__search", undefined, 10, 3],
      ["tool_result", "mcp__docs__search", undefined, 300, 3],
    ]);
  });

  it("is what came after a compaction, and the system prompt", () => {
    const { items, results } = windowContents({ turns, lines, resets: [{ at: 20 }] })!;
    // The results of a tool are history, in the window or not.
    expect(results).toHaveLength(2);
    expect(items.map(({ kind, tokens }) => [kind, tokens])).toEqual([
      ["system", 50],
      ["tool_call", 10],
      ["tool_result", 300],
    ]);
  });

  it("loses the oldest tool results to a microcompaction", () => {
    const results = (cleared: number) =>
      windowContents({ turns, lines, resets: [{ at: 25, cleared }] })!
        .items.filter(({ kind }) => kind === "tool_result")
        .map(({ tokens }) => tokens);
    expect([results(150), results(450), results(9_999)]).toEqual([[250, 300], [250], []]);
  });

  it("is unknown without a turn, and has no items where the transcript begins in the middle", () => {
    expect(windowContents({ turns: [], lines, resets: [] })).toBeUndefined();
    expect(windowContents({ turns: [turn(30, 200_000)], lines, resets: [] })).toMatchObject({
      ...{ items: [], rest: 200_000 },
    });
  });

  it("tells the answer from what entered the context after it, unless the context was reset", () => {
    const answer = at(30, { kind: "assistant", tokens: 40 }, { kind: "tool_call", tokens: 10, call: "z" });
    const since = (resets: readonly PartsReset[]) =>
      windowContents({ turns: [turn(10, 500), turn(30, 2_000, 1.5)], lines: [...lines, answer], resets })!
        .since;
    expect(since([])).toEqual({ answer: 75, added: 14 });
    expect(since([{ at: 20 }])).toEqual({ answer: 75, added: 14 });
    expect(since([{ at: 35 }])).toBeUndefined();
  });

  it("adds up to the level and to the parts of the latest turn, in any order of lines", () => {
    const time = fc.integer({ min: 0, max: 50 });
    const item = fc.record({
      kind: fc.constantFrom(...CONTENT_KINDS),
      tokens: fc.integer({ min: 0, max: 5_000 }),
    });
    const some = fc.uniqueArray(fc.record({ at: time, items: fc.array(item, { maxLength: 4 }) }), {
      selector: (one) => one.at,
    });
    const resets = fc.array(
      fc.record({ at: time, cleared: fc.option(fc.integer({ min: 0, max: 3_000 }), { nil: undefined }) }),
      { maxLength: 3 },
    );
    fc.assert(
      fc.property(some, resets, fc.integer({ min: 1, max: 9_000 }), (given, ends, level) => {
        const latest = [turn(25, level, 1.1)];
        const window = windowContents({ turns: latest, lines: given, resets: ends })!;
        expect(windowContents({ turns: latest, lines: given.toReversed(), resets: ends })).toEqual(window);
        const parts = partsAtTurns({ turns: latest, lines: given, resets: ends }).get("t25");
        expect(parts === undefined).toBe(window.items.length === 0);
        if (parts === undefined) return;
        const sum = window.items.reduce((all, { tokens }) => all + tokens, 0);
        expect(window.rest).toBeGreaterThanOrEqual(0);
        expect(sum + window.rest).toBe(level);
        const output = window.items.filter(({ kind }) => kind === "tool_result");
        const held = output.reduce((all, { tokens }) => all + tokens, 0);
        // Each item is rounded down.
        expect(Math.abs(held - parts.tool_output!)).toBeLessThanOrEqual(output.length + 1);
      }),
    );
  });
});

describe("tokens of content", () => {
  it.each([
    ["a string", "hello world", estimateTokens("hello world")],
    [
      "text blocks",
      [{ type: "text", text: "hello" }, "world"],
      estimateTokens("hello") + estimateTokens("world"),
    ],
    ["an empty block", { type: "text" }, 0],
    ["an image", { type: "image", source: { data: "aaaa".repeat(999) } }, 0],
    ["other JSON", { a: 1 }, estimateTokens('{"a":1}')],
    ["nothing", undefined, 0],
    ["null", null, 0],
    ["a number", 7, 0],
  ])("%s", (_, content, expected) => {
    expect(textTokens(content)).toBe(expected);
  });
});
