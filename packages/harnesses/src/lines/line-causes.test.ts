import { HARNESS_LINE_BASES, LINE_CAUSES, LINE_VERDICTS, WINDOW_SOURCES } from "@plimsoll/protocol/pure";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { LineFacts } from "./family-line.ts";
import { OWN_LINE_FAMILIES } from "./family-lines.ts";
import { lineCauses, lineCauseText } from "./line-causes.ts";

const facts = (given: Partial<LineFacts> = {}): LineFacts => ({
  harness: "claude-code@mac",
  verdict: "earlier",
  line: { tokens: 167_000, basis: "computed" },
  observed: { lowest: 85_000, highest: 88_000 },
  windowTokens: 200_000,
  windowSource: "reported",
  ...given,
});

describe("the causes", () => {
  test.each([
    ["of an agreement", facts({ verdict: "agrees" }), []],
    ["of too few falls", facts({ verdict: "too_few" }), []],
    [
      "of Claude Code before its line",
      facts(),
      ["own_setting", "environment", "percent_variable", "other_settings", "experiment"],
    ],
    [
      "of Claude Code at the smallest line",
      facts({ observed: { lowest: 64_000, highest: 68_000 } }),
      ["smallest_window", "own_setting", "environment", "percent_variable", "other_settings", "experiment"],
    ],
    [
      "of Claude Code after an acknowledged line",
      facts({ verdict: "later", line: { tokens: 67_000, basis: "acknowledged" } }),
      ["environment", "other_settings", "tool_loop", "old_session"],
    ],
    [
      "of idle Claude Code sessions",
      facts({
        line: { tokens: 967_000, basis: "computed" },
        observed: { lowest: 210_000, highest: 240_000 },
        windowTokens: 1_000_000,
      }),
      ["own_setting", "environment", "percent_variable", "other_settings", "idle_compaction", "experiment"],
    ],
    [
      "of a window from the catalog",
      facts({ harness: "copilot@ws", windowSource: "catalog" }),
      ["window_size"],
    ],
    [
      "of levels above the window",
      facts({ harness: "copilot@ws", verdict: "later", observed: { lowest: 210_000, highest: 240_000 } }),
      ["window_size"],
    ],
    [
      "of compactions that are off",
      facts({ verdict: "not_off", line: { tokens: undefined, basis: "off" } }),
      ["environment", "other_settings", "old_session"],
    ],
    ["of opencode", facts({ harness: "opencode@ws" }), ["own_setting", "other_settings", "input_limit"]],
    [
      "of Codex after its line",
      facts({ harness: "codex@ws", verdict: "later" }),
      ["own_setting", "other_settings", "counted_scope"],
    ],
  ])("%s", (_name, given, causes) => {
    expect(lineCauses(given)).toEqual(causes);
  });

  test("are sentences, and exist only where the line and the observation differ", () => {
    const harness = fc.constantFrom(...OWN_LINE_FAMILIES, "my-bot@lab", "constructor", "");
    const tokens = fc.integer({ min: 1, max: 1_000_000 });
    const any = fc.record({
      harness,
      verdict: fc.constantFrom(...LINE_VERDICTS),
      line: fc.option(
        fc.record({
          tokens: fc.option(tokens, { nil: undefined }),
          basis: fc.constantFrom(...HARNESS_LINE_BASES),
        }),
        { nil: undefined },
      ),
      observed: fc.record({ lowest: tokens, highest: tokens }),
      windowTokens: fc.option(tokens, { nil: undefined }),
      windowSource: fc.constantFrom(...WINDOW_SOURCES),
    });
    fc.assert(
      fc.property(any, (given) => {
        const causes = lineCauses(given);
        if (!["earlier", "later", "not_off"].includes(given.verdict)) expect(causes).toEqual([]);
        for (const cause of causes) expect(lineCauseText(cause, given.harness)).toMatch(/^[A-Z].*\.$/);
      }),
    );
    for (const cause of LINE_CAUSES)
      expect(OWN_LINE_FAMILIES.map((family) => lineCauseText(cause, family)).join(""), cause).not.toBe("");
  });
});
