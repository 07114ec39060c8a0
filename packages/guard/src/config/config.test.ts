import { describe, expect, it } from "vitest";
import { readOuroToml, readPhantomYaml } from "./index.ts";

describe("readPhantomYaml", () => {
  it("reads the design's example with comments [P1]", () => {
    const text = `# my agent
name: scout
model: "claude-opus-4-6"   # 1M
prompt: |
  context:
    max_utilization_pct: 99
context:
  max_utilization_pct: 25  # target ceiling as % of model context window
  warning_pct: 12.5 # emit a warning when crossing this threshold

  model_context_tokens: 1_000_000 # or derive from model name
port: 3100
`;
    expect(readPhantomYaml(text)).toEqual({
      thresholds: { warning: "12.5%", ceiling: "25%", soft: null, hard: null, reserve: null },
      windowTokens: 1_000_000,
      model: "claude-opus-4-6",
      maxContextPct: undefined,
    });
  });

  it("reads the budget of a tick from the loop block, and nothing else of it", () => {
    const text = `loop:
  max_iterations: 20
  steps:
    - explore: all of it
      deep: true
  max_context_pct: 12.5 # per-tick budget
context:
  max_utilization_pct: 25
`;
    expect(readPhantomYaml(text)).toMatchObject({ maxContextPct: 12.5, thresholds: { ceiling: "25%" } });
    for (const loop of [
      "",
      "loop:\n",
      "loop: daily\n",
      "loop: { max_iterations: 3 }\n",
      "loop:\n  max_context_pct:\n",
    ])
      expect(readPhantomYaml(loop).maxContextPct).toBeUndefined();
    expect(readPhantomYaml("loop: { max_iterations: 3, max_context_pct: 10 }").maxContextPct).toBe(10);
    expect(() => readPhantomYaml("loop:\n  max_context_pct: 150\n")).toThrow(
      "loop.max_context_pct: must be a percentage above 0 and at most 100, not 150 (line 2)",
    );
  });

  it("reads a Windows file with a byte order mark and CRLF", () => {
    expect(readPhantomYaml("\uFEFFcontext:\r\n  max_utilization_pct: 30\r\n").thresholds.ceiling).toBe("30%");
  });

  it("uses the design's defaults and accepts null to disable a threshold [P2]", () => {
    for (const text of ["", "port: 3100\n", "context:\n", "context: {}\n"]) {
      expect(readPhantomYaml(text).thresholds).toMatchObject({ warning: "15%", ceiling: "20%" });
    }
    expect(
      readPhantomYaml("context: { warning_pct: null, max_utilization_pct: 30 }").thresholds,
    ).toMatchObject({
      warning: null,
      ceiling: "30%",
    });
  });

  it.each([
    ["context:\n  warning_pct: high\n", 'context.warning_pct: must be a number, not "high" (line 2)'],
    [
      "context:\n  max_utilization_pct: 120\n",
      "context.max_utilization_pct: must be a percentage above 0 and at most 100, not 120 (line 2)",
    ],
    [
      "context:\n  max_utilization_pct: 10\n",
      "context.max_utilization_pct: the warning (15) must be below the ceiling (10) (line 2)",
    ],
    [
      "\n\ncontext:\n  warning_pct: 10\n  warning_pct: 11\n",
      "context.warning_pct: is set twice, remove one (line 5)",
    ],
    [
      "context:\n  max_utilisation_pct: 10\n",
      "context.max_utilisation_pct: is not a setting; the settings are max_utilization_pct, warning_pct, model_context_tokens (line 2)",
    ],
    ["context:\n\twarning_pct: 10\n", "context: YAML does not allow tabs for indentation (line 2)"],
    ["context: 20\n", "context: must be a block of settings, not 20 (line 1)"],
    [
      "context:\n  model_context_tokens: 0.5\n",
      "context.model_context_tokens: must be a whole number of tokens, at least 1000, not 0.5 (line 2)",
    ],
    [
      "context:\n  warning_pct: 10\n    model_context_tokens: 9000\n",
      "context: unexpected indentation of 4 instead of 2 (line 3)",
    ],
  ])("refuses %j", (text, problem) => {
    expect(() => readPhantomYaml(text, "config/phantom.yaml")).toThrow(
      `Invalid config at config/phantom.yaml:\n  - ${problem}`,
    );
  });

  it("reports all mistakes at once", () => {
    expect(() => readPhantomYaml("context:\n  warning_pct: -1\n  model_context_tokens: many\n")).toThrow(
      /warning_pct.*\n.*model_context_tokens/,
    );
  });
});

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

  it("reads dotted keys and inline tables", () => {
    expect(readOuroToml("context.soft_threshold_pct = 0.5").policy.thresholds).toMatchObject({ soft: "50%" });
    expect(
      readOuroToml("context = { soft_threshold_pct = 0.5, carryover_turns = 2 }").policy.restart,
    ).toMatchObject({
      carryoverTurns: 2,
    });
  });

  it.each([
    [
      "[context]\nsoft_threshold_pct = 70\n",
      "context.soft_threshold_pct: must be a fraction above 0 and at most 1 (write 0.7 for 70 %), not 70 (line 2)",
    ],
    [
      "[context]\nsoft_threshold_pct = 0.95\n",
      "context.soft_threshold_pct: the soft threshold (0.95) must be below the hard threshold (0.9) (line 2)",
    ],
    [
      "[context]\ncarryover_turns = 2.5\n",
      "context.carryover_turns: must be a whole number, at least 0, not 2.5 (line 2)",
    ],
    ['[context]\nauto_restart = "yes"\n', 'context.auto_restart: must be true or false, not "yes" (line 2)'],
    ["[context]\nmax_restart = 2\n", "context.max_restart: is not a setting"],
    ["[context]\nmax_restarts\n", 'context: expected "key = value", found max_restarts (line 2)'],
  ])("refuses %j", (text, problem) => {
    expect(() => readOuroToml(text)).toThrow(`Invalid config at ouro.toml:\n  - ${problem}`);
  });
});
