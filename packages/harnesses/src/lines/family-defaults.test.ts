import { readPolicy } from "@plimsoll/protocol/policy";
import { lineOf, type Thresholds } from "@plimsoll/protocol/pure";
import { expect, test } from "vitest";
import { familyDefaults, lineKind } from "./family-defaults.ts";

const line = (harness: string, windowTokens: number) =>
  lineOf(familyDefaults(harness).thresholds as Thresholds, windowTokens);

test.each([
  ["phantom@vm-3", 1_000_000, "ceiling", 200_000],
  ["ouroboros@host", 32_768, "hard", 29_491],
  ["claude-code@host", 200_000, "ceiling", 167_000],
  ["Claude-Code@host", 1_000_000, "ceiling", 967_000],
  ["codex@host", 258_400, "ceiling", 244_705],
  ["gemini-cli@host", 1_048_576, "ceiling", 524_288],
  ["pi@host", 200_000, "ceiling", 183_616],
  ["my-bot@host", 128_000, "hard", 128_000],
  ["", 128_000, "hard", 128_000],
] as const)(
  "%s has its line in a window of %i tokens at its %s: %i",
  (harness, windowTokens, threshold, tokens) => {
    expect(line(harness, windowTokens)).toEqual({ threshold, tokens });
  },
);

test("the defaults have no mistake", () => {
  for (const harness of ["phantom", "ouroboros", "claude-code", "codex", "kimi", "constructor", "x"])
    expect(readPolicy({ settings: familyDefaults(harness) })).toMatchObject({ ok: true });
});

test.each([
  ["claude-code@host", "ceiling", 167_000, "default", 200_000, "compaction"],
  // A harness that reports a ceiling, or runs a policy, has one.
  ["claude-code@host", "ceiling", 100_000, "reported", 200_000, "ceiling"],
  ["claude-code@host", "ceiling", 100_000, "policy", 200_000, "ceiling"],
  ["phantom@vm-3", "ceiling", 200_000, "default", 1_000_000, "ceiling"],
  ["ouroboros@host", "hard", 29_491, "default", 32_768, "hard"],
  ["my-bot@host", "hard", 128_000, "default", 128_000, "window_end"],
  ["my-bot@host", "hard", 128_000, "reported", undefined, "hard"],
  ["constructor", "hard", 100, "default", 128_000, "hard"],
] as const)("a line of %s, %s at %i, %s, in a window of %s is of kind %s", (...row) => {
  const [harness, threshold, tokens, source, windowTokens, kind] = row;
  expect(lineKind(harness, { threshold, tokens }, source, windowTokens)).toBe(kind);
});
