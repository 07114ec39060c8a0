import { TurnContents } from "@plimsoll/protocol/events";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { turnContents } from "./held-things.ts";
import { CONTENT_KINDS, type HeldItem } from "./transcript-parts.ts";

const item = (more: Partial<HeldItem>): HeldItem => ({
  ...{ kind: "user", tokens: 10, turn: 1, at: 1_764_300_000_000 },
  ...more,
});
const windowOf = (items: HeldItem[]) => ({
  turn: 9,
  at: 0,
  since: undefined,
  results: [],
  level: 9_000,
  rest: 0,
  items,
});

describe("what is sent of a window's contents", () => {
  it("is sums by kind and tool, and the largest things with their times", () => {
    const call = { call: "a", tool: "Read", file: "src/secret.ts", at: 1_764_300_060_000 };
    const sent = turnContents(
      windowOf([
        item({ kind: "system", tokens: 40 }),
        item({ kind: "tool_call", tokens: 5, ...call }),
        item({ kind: "tool_result", tokens: 300, ...call }),
        item({ kind: "tool_call", tokens: 5, call: "b", tool: "Read" }),
        item({ kind: "tool_result", tokens: 2, call: "c" }),
        item({ text: "a prompt that stays" }),
      ]),
      [{ tool: "Read", day: "2026-11-29", calls: 4, failed: 1 }],
    );
    expect(sent).toEqual({
      parts: [
        { kind: "tool", tool: "Read", tokens: 310, count: 2 },
        { kind: "system", tool: undefined, tokens: 40, count: 1 },
        { kind: "user", tool: undefined, tokens: 10, count: 1 },
        { kind: "tool", tool: undefined, tokens: 2, count: 0 },
      ],
      largest: [
        { kind: "tool", tool: "Read", tokens: 305, at: 1_764_300_060_000 },
        { kind: "system", tool: undefined, tokens: 40, at: 1_764_300_000_000 },
        { kind: "user", tool: undefined, tokens: 10, at: 1_764_300_000_000 },
        { kind: "tool", tool: "Read", tokens: 5, at: 1_764_300_000_000 },
        { kind: "tool", tool: undefined, tokens: 2, at: 1_764_300_000_000 },
      ],
      called: [{ tool: "Read", day: "2026-11-29", calls: 4, failed: 1 }],
    });
    expect(JSON.stringify(sent)).not.toMatch(/secret|prompt that/);
  });

  it("is what the protocol takes, whatever tools are called, and adds up to what the window holds", () => {
    const tool = fc.option(
      fc.oneof(fc.string(), fc.string({ unit: "binary", minLength: 100, maxLength: 200 })),
      {
        nil: undefined,
      },
    );
    const some = fc.array(
      fc.record({
        kind: fc.constantFrom(...CONTENT_KINDS),
        tokens: fc.nat(5_000),
        call: fc.option(fc.constantFrom("a", "b", "c"), { nil: undefined }),
        tool,
      }),
      { maxLength: 90 },
    );
    fc.assert(
      fc.property(some, (items) => {
        const sent = turnContents(windowOf(items.map(item)), []);
        expect(TurnContents.parse(sent)).toEqual(sent);
        const sum = (list: readonly { tokens: number }[]) =>
          list.reduce((all, { tokens }) => all + tokens, 0);
        const held = sum(items.map(item));
        if (sent.parts.length < 64) expect(sum(sent.parts)).toBe(held);
        expect(sum(sent.largest)).toBeLessThanOrEqual(held);
      }),
    );
  });
});
