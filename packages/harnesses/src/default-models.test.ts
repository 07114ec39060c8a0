import { catalogWindow } from "@plimsoll/fold";
import { describe, expect, it } from "vitest";
import { isNone, type None, none } from "./harness.ts";
import { type Family, HARNESSES } from "./registry.ts";

const ASKS = none("it asks for a model, or takes the one of a provider");

/** The models that each family runs with unless its user chooses another, as it spells them. As of November 2026. */
const DEFAULT_MODELS = {
  "claude-code": ["claude-sonnet-5-5", "claude-opus-5-5", "claude-haiku-5-5", "claude-fable-5-2"],
  codex: ["gpt-6.1-sol", "gpt-6-sol"],
  "gemini-cli": ["gemini-3-pro-preview", "gemini-2.5-pro", "gemini-2.5-flash"],
  "qwen-code": ["qwen3-coder-plus"],
  kimi: ["kimi-k3.1-pro", "kimi-for-coding"],
  "kimi-code": ["k3", "kimi-for-coding", "kimi-for-coding-highspeed"],
  copilot: ["claude-sonnet-5.5"],
  cline: ["anthropic/claude-sonnet-5.5"],
  amp: ["claude-opus-5-5"],
  deepagents: ["anthropic:claude-sonnet-5-5"],
  openhands: ["anthropic/claude-sonnet-5-5"],
  zed: ["claude-sonnet-5-5"],
  kilo: ASKS,
  opencode: ASKS,
  pi: ASKS,
  openclaw: ASKS,
  "mistral-vibe": ["mistral-medium-3.5"],
  kiro: none("its recordings name the size of the window"),
  dsh: ["deepseek-v4-pro", "deepseek-v4-flash"],
  goose: ASKS,
  crush: ASKS,
  cursor: ASKS,
  ouroboros: ASKS,
  agentd: ASKS,
  phantom: ASKS,
  atif: none("a format of recordings, written by many harnesses"),
  "mini-swe-agent": ASKS,
} satisfies Record<Family, string[] | None>;

describe("the default models of each harness have a known window", () => {
  it.each(Object.keys(HARNESSES) as Family[])("%s", (family) => {
    const models = DEFAULT_MODELS[family];
    if (isNone(models)) return;
    for (const model of models) expect([model, catalogWindow(model)]).toEqual([model, expect.any(Number)]);
  });
});
