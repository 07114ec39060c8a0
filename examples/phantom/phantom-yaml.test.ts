import { describe, expect, it } from "vitest";
import { readPhantomYaml } from "./phantom-yaml.ts";

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

  model_context_tokens: 1000000 # or derive from model name
loop:
  max_iterations: 20
  max_context_pct: 12.5 # per-tick budget
port: 3100
`;
    expect(readPhantomYaml(text)).toEqual({
      thresholds: { warning: "12.5%", ceiling: "25%", soft: null, hard: null, reserve: null },
      windowTokens: 1_000_000,
      model: "claude-opus-4-6",
      maxContextPct: 12.5,
    });
  });

  it.each(["", "port: 3100\n", "context:\nloop:\n", "context: {}\n", "\uFEFFcontext:\r\n"])(
    "uses the design's defaults for %j [P2]",
    (text) => {
      expect(readPhantomYaml(text).thresholds).toMatchObject({ warning: "15%", ceiling: "20%" });
    },
  );

  it.each([
    ["claude-opus-4-6", 1_000_000],
    ["claude-haiku-4-5-20251001", 200_000],
    ["claude-sonnet-4-5[1m]", 1_000_000],
    ["a-model-of-tomorrow", undefined],
  ])("derives the window of %s from its name: %s [P1]", (model, tokens) => {
    expect(readPhantomYaml(`model: "${model}"`).windowTokens).toBe(tokens);
    expect(readPhantomYaml(`model: "${model}"\ncontext:\n  model_context_tokens: 50000`).windowTokens).toBe(
      50_000,
    );
  });

  it("turns a threshold off with null [P2]", () => {
    const { thresholds } = readPhantomYaml("context: { warning_pct: null, max_utilization_pct: 10 }");
    expect(thresholds).toMatchObject({ warning: null, ceiling: "10%" });
  });

  it.each([
    ["context:\n  warning_pct: high\n", "at context.warning_pct"],
    ["context:\n  max_utilization_pct: 120\n", "at context.max_utilization_pct"],
    ["context:\n  max_utilization_pct: 10\n", "warning_pct must be below max_utilization_pct"],
    ["context:\n  max_utilisation_pct: 30\n", 'Unrecognized key: "max_utilisation_pct"'],
    ["context: 20\n", "at context"],
    ["context:\n  model_context_tokens: 0.5\n", "at context.model_context_tokens"],
    ["loop:\n  max_context_pct: 150\n", "at loop.max_context_pct"],
    ["context:\n  warning_pct: 10\n  warning_pct: 11\n", "Map keys must be unique at line 3"],
    ["context:\n\twarning_pct: 10\n", "Tabs are not allowed as indentation at line 2"],
  ])("refuses %j", (text, problem) => {
    expect(() => readPhantomYaml(text)).toThrow(problem);
  });

  it("names all mistakes at once", () => {
    const read = () => readPhantomYaml("context:\n  warning_pct: -1\n  model_context_tokens: many\n");
    expect(read).toThrow(/context\.warning_pct.*context\.model_context_tokens/s);
  });
});
