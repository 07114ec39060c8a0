import { describe, expect, it } from "vitest";
import { readOuroToml } from "./ouro-toml.ts";

describe("readOuroToml", () => {
  it("reads `_pct` settings as fractions", () => {
    const text = `[general]
model = "llama3.2"
notes = """
[context]
soft_threshold_pct = 0.1
"""
[safety]
context_limit = 32_768
blocked_patterns = [
  "rm -rf", # [context]
]
[context]
soft_threshold_pct = 0.65 # masking
hard_threshold_pct = 0.85
carryover_turns = 7
max_restarts = 3
auto_restart = false
`;
    const { policy, windowTokens, model } = readOuroToml(text);
    expect(policy.thresholds).toMatchObject({ soft: "65%", hard: "85%", ceiling: null });
    expect(policy.restart).toEqual({ carryoverTurns: 7, max: 3, how: "ask" });
    expect({ windowTokens, model }).toEqual({ windowTokens: 32_768, model: "llama3.2" });
  });

  it("uses the design's defaults: 70 and 90 %, automatic restarts without a limit [O14]", () => {
    const { policy } = readOuroToml("");
    expect(policy.thresholds).toMatchObject({ soft: "70%", hard: "90%" });
    expect(policy.restart).toEqual({ carryoverTurns: 5, max: null, how: "auto" });
  });

  it.each([
    ["[context]\nsoft_threshold_pct = 70\n", "must be a fraction of at most 1, such as 0.7 for 70 %"],
    ["[context]\nsoft_threshold_pct = 0.95\n", "soft_threshold_pct must be below hard_threshold_pct"],
    ["[context]\ncarryover_turns = 2.5\n", "at context.carryover_turns"],
    ['[context]\nauto_restart = "yes"\n', "at context.auto_restart"],
    ["[context]\nmax_restart = 2\n", 'Unrecognized key: "max_restart"'],
    ["context = 3\n", "at context"],
    ["[context]\nmax_restarts\n", "Error parsing TOML (2, 13)"],
    ["[context]\nmax_restarts = 1\nmax_restarts = 2\n", "Value already defined"],
  ])("refuses %j", (text, problem) => {
    expect(() => readOuroToml(text)).toThrow(problem);
  });
});
