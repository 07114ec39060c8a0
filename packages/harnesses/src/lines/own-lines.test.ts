import { lineOf, type Thresholds } from "@plimsoll/protocol/pure";
import fc from "fast-check";
import { expect, test } from "vitest";
import { familyDefaults } from "./family-defaults.ts";
import { OWN_LINE_FAMILIES } from "./family-lines.ts";
import { ownLine } from "./own-lines.ts";

test.each([
  ["claude-code@host", 200_000, 167_000],
  ["Claude-Code@host", 1_000_000, 967_000],
  // Smaller than the room that it keeps
  ["claude-code", 33_000, undefined],
  ["codex@host", 258_400, 244_705],
  ["gemini-cli", 1_048_576, 524_288],
  ["opencode", 200_000, 168_000],
  ["kilo", 200_000, 168_000],
  ["copilot", 128_000, 102_400],
  ["cline", 200_000, 162_000],
  ["goose", 128_000, 102_400],
  ["kimi", 262_144, 212_144],
  ["kimi", 1_000_000, 850_000],
  ["qwen-code", 1_000_000, 850_000],
  ["qwen-code", 131_072, 98_072],
  ["pi", 200_000, 183_616],
  ["crush", 200_000, 160_000],
  ["crush", 1_000_000, 980_000],
  ["zed", 200_000, 180_000],
  ["zed", 64_000, undefined],
  ["deepagents", 200_000, 170_000],
  ["my-bot", 200_000, undefined],
  ["constructor", 200_000, undefined],
  ["", 200_000, undefined],
  ["claude-code", undefined, undefined],
])("%s compacts a window of %s tokens at %s", (harness, windowTokens, tokens) => {
  expect(ownLine(harness, windowTokens)).toBe(tokens);
});

const family = fc.constantFrom(...OWN_LINE_FAMILIES);
const size = fc.integer({ min: 1, max: 2_000_000 });

test("a line lies within the window, and does not fall while the window grows", () => {
  fc.assert(
    fc.property(family, size, size, (harness, one, other) => {
      const [small, large] = [Math.min(one, other), Math.max(one, other)];
      const lines = [ownLine(harness, small), ownLine(harness, large)];
      if (lines[0] !== undefined) {
        expect(lines[0]).toBeGreaterThan(0);
        expect(lines[0]).toBeLessThan(small + 1);
        expect(lines[1]).toBeGreaterThanOrEqual(lines[0]);
      }
    }),
  );
});

test("an agent without a policy is judged by the own line, in windows of today's models", () => {
  const usual: Readonly<Record<string, number>> = { kimi: 262_144, "qwen-code": 262_144, codex: 258_400 };
  for (const harness of OWN_LINE_FAMILIES) {
    const windowTokens = usual[harness] ?? 1_000_000;
    const line = lineOf(familyDefaults(harness).thresholds as Thresholds, windowTokens);
    expect(line, harness).toEqual({ threshold: "ceiling", tokens: ownLine(harness, windowTokens) });
  }
});
