import type { AgentShape } from "./simulated-agent.ts";

/** How six harnesses fill their windows: where they act, what they do there, and what is left. */
export const SHAPES = {
  claudeCode: {
    harness: "claude-code@laptop",
    model: "claude-opus-4-6",
    kind: "conversation",
    window: 200_000,
    reported: 200_000,
    start: 0.09,
    high: 0.83,
    low: 0.2,
    falls: ["compacted", "compacted", "compacted", "cleared"],
    growth: 0.07,
    pricePerMillion: 5,
  },
  codex: {
    harness: "codex@ci",
    model: "gpt-5-codex",
    kind: "conversation",
    window: 272_000,
    reported: 272_000,
    start: 0.05,
    high: 0.89,
    low: 0.12,
    falls: ["compacted"],
    growth: 0.06,
    pricePerMillion: 1.25,
  },
  ouroboros: {
    harness: "ouroboros@vm-2",
    model: "claude-sonnet-4-5",
    kind: "loop",
    window: 200_000,
    reported: 200_000,
    start: 0.06,
    high: 0.74,
    low: 0.42,
    falls: ["masked", "masked", "masked", "restarted"],
    growth: 0.05,
    pricePerMillion: 3,
  },
  phantom: {
    harness: "phantom@vm-3",
    model: "claude-opus-4-6",
    kind: "loop",
    window: 200_000,
    reported: 200_000,
    start: 0.02,
    high: 0.195,
    low: 0.03,
    falls: ["subtick", "subtick", "cleared"],
    growth: 0.02,
  },
  gemini: {
    harness: "gemini-cli@desk",
    model: "gemini-2.5-pro",
    kind: "conversation",
    window: 1_048_576,
    start: 0.02,
    high: 0.5,
    low: 0.16,
    falls: ["compacted"],
    growth: 0.04,
  },
  // A local model server cuts the oldest messages and says nothing.
  ollama: {
    harness: "homelab@nas",
    model: "qwen3:8b",
    kind: "agent",
    window: 32_768,
    reported: 32_768,
    start: 0.1,
    high: 0.97,
    low: 0.55,
    falls: ["unexplained"],
    growth: 0.12,
  },
} as const satisfies Record<string, AgentShape>;

/** The harness states half of the window that its model really has, so levels exceed it. */
export const WRONG_WINDOW: AgentShape = {
  ...SHAPES.codex,
  harness: "inhouse@batch",
  reported: 128_000,
  high: 0.72,
};

export const SUB_AGENT_SHAPE: AgentShape = {
  ...SHAPES.claudeCode,
  model: "claude-haiku-4-5",
  kind: "agent",
  start: 0.06,
  high: 0.6,
  growth: 0.09,
};
