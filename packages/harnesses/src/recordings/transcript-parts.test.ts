import { estimateTokens } from "@plimsoll/guard/measure";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type LineParts, type PartsReset, partsAtTurns, textTokens } from "./transcript-parts.ts";

const line = (at: number, history: number, tool_output = 0, system = 0): LineParts => ({
  at,
  history,
  tool_output,
  system,
});
const turn = (at: number, level: number, scale = 1) => ({ key: `t${at}`, at, level, scale });

describe("what fills the window, from a transcript", () => {
  it("is what came before the turn, in the model's own tokens", () => {
    const found = partsAtTurns(
      [turn(10, 1_000), turn(20, 1_000, 1.5)],
      [line(5, 100), line(10, 40), line(15, 0, 200)],
      [],
    );
    expect(found.get("t10")).toEqual({ system: undefined, history: 100, tool_output: 0 });
    expect(found.get("t20")).toEqual({ system: undefined, history: 210, tool_output: 300 });
  });

  it("begins anew after a compaction, and keeps the system prompt", () => {
    const found = partsAtTurns([turn(30, 1_000)], [line(5, 500, 300, 50), line(20, 60)], [{ at: 10 }]);
    expect(found.get("t30")).toEqual({ system: 50, history: 60, tool_output: 0 });
  });

  it("loses the tool output that a microcompaction cleared, and never more than there is", () => {
    const lines = [line(5, 100, 300)];
    const after = (cleared: number) =>
      partsAtTurns([turn(30, 1_000, 2)], lines, [{ at: 10, cleared }]).get("t30")?.tool_output;
    expect([after(200), after(9_999)]).toEqual([400, 0]);
  });

  it("is unknown where the transcript begins in the middle", () => {
    expect(partsAtTurns([turn(10, 140_000)], [line(5, 30)], []).size).toBe(0);
    expect(partsAtTurns([turn(10, 0)], [line(5, 30)], []).size).toBe(0);
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
        const parts = partsAtTurns(some, found, ends);
        for (const { key, level } of some) {
          const { system = 0, history = 0, tool_output = 0 } = parts.get(key) ?? {};
          expect(system + history + tool_output).toBeLessThanOrEqual(level);
        }
        expect(partsAtTurns(some.toReversed(), found, ends)).toEqual(parts);
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
