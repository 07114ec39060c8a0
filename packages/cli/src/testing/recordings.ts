import type { Format } from "../readers/reader.ts";

/** A file of a recording. A document has one value. */
export interface SampleFile {
  path: string;
  lines: object[];
}

/** A recording of a harness, and what it says: the context tokens of each agent, by `session agent`. */
export interface SampleRecording {
  format: Format;
  files: SampleFile[];
  levels: Record<string, (number | undefined)[]>;
  /** Boundaries, by `session agent`. */
  boundaries: Record<string, string[]>;
}

const START = Date.UTC(2026, 10, 20, 10);
const ms = (second: number) => START + second * 1_000;
const at = (second: number) => new Date(ms(second)).toISOString();

/** As `chatRecordingTypes.ts` of Gemini CLI 0.56 describes it. */
const geminiTokens = (input: number, cached: number, more: object = {}) => ({
  input,
  cached,
  output: 40,
  thoughts: 10,
  tool: 0,
  total: input + 50,
  ...more,
});
const gemini = (second: number, id: string, tokens: object | null) => ({
  id,
  timestamp: at(second),
  type: "gemini",
  content: "done",
  model: "gemini-3-pro",
  tokens,
});
const geminiUser = (second: number, id: string) => ({
  id,
  timestamp: at(second),
  type: "user",
  content: [{ text: "Fix the billing webhooks" }],
});
const geminiSummary = { id: "g-s", timestamp: at(7), type: "user", content: "<state_snapshot>" };
const geminiCli: SampleRecording = {
  format: "gemini-cli",
  files: [
    {
      path: "gemini/chats/session-2026-11-20T10-00-aaaaaaaa.jsonl",
      lines: [
        { sessionId: "gemini-1", projectHash: "h", startTime: at(0), lastUpdated: at(0), kind: "main" },
        geminiUser(1, "g-u1"),
        gemini(2, "g-1", null),
        gemini(2, "g-1", geminiTokens(50_000, 40_000)),
        { $set: { lastUpdated: at(2) } },
        geminiUser(3, "g-u2"),
        gemini(4, "g-2", geminiTokens(520_000, 500_000, { tool: 1_000, total: 521_050 })),
        { $set: { messages: [geminiSummary, gemini(4, "g-2", null)], lastUpdated: at(7) } },
        gemini(9, "g-3", geminiTokens(150_000, 0)),
        gemini(11, "g-4", geminiTokens(160_000, 150_000)),
        { $rewindTo: "g-4" },
        { $set: { summary: "Billing", lastUpdated: at(12) } },
      ],
    },
    {
      path: "gemini/chats/gemini-1/gemini-sub.jsonl",
      lines: [
        { sessionId: "gemini-sub", projectHash: "h", startTime: at(3), lastUpdated: at(3), kind: "subagent" },
        gemini(3.5, "g-sub-1", geminiTokens(7_000, 0)),
      ],
    },
    {
      path: "gemini/chats/gemini-sub/gemini-deep.jsonl",
      lines: [
        {
          sessionId: "gemini-deep",
          projectHash: "h",
          startTime: at(3),
          lastUpdated: at(3),
          kind: "subagent",
        },
        gemini(3.7, "g-deep-1", geminiTokens(900, 0)),
      ],
    },
  ],
  levels: {
    "gemini-1 main": [50_000, 521_000, 150_000, 160_000],
    "gemini-1 agent-gemini-sub": [7_000],
    "gemini-1 agent-gemini-deep": [900],
  },
  boundaries: { "gemini-1 main": ["compacted"] },
};

/** As `ChatRecord` of Qwen Code 0.21 describes it. */
const qwen = (second: number, type: string, more: object) => ({
  uuid: `q-${second}`,
  parentUuid: null,
  sessionId: "qwen-1",
  timestamp: at(second),
  type,
  cwd: "/w",
  version: "0.21.0",
  ...more,
});
const qwenUsage = (prompt: number) => ({
  model: "qwen3-coder-plus",
  contextWindowSize: 262_144,
  message: { role: "model", parts: [{ text: "done" }] },
  usageMetadata: {
    promptTokenCount: prompt,
    cachedContentTokenCount: Math.floor(prompt / 2),
    candidatesTokenCount: 90,
    thoughtsTokenCount: 30,
    totalTokenCount: prompt + 90,
  },
});
const qwenCode: SampleRecording = {
  format: "qwen-code",
  files: [
    {
      path: "qwen/projects/-w/chats/qwen-1.jsonl",
      lines: [
        qwen(0, "user", { message: { role: "user", parts: [{ text: "Fix the billing webhooks" }] } }),
        qwen(1, "assistant", qwenUsage(20_000)),
        qwen(2, "tool_result", { message: { role: "user", parts: [{ functionResponse: {} }] } }),
        qwen(3, "assistant", qwenUsage(180_000)),
        qwen(4, "system", {
          subtype: "ui_telemetry",
          systemPayload: { uiEvent: { "event.name": "qwen-code.api_response", input_token_count: 180_000 } },
        }),
        qwen(5, "system", {
          subtype: "chat_compression",
          systemPayload: {
            info: { originalTokenCount: 180_000, newTokenCount: 30_000, compressionStatus: 1 },
            compressedHistory: [],
          },
        }),
        qwen(6, "assistant", qwenUsage(31_000)),
        qwen(7, "assistant", { ...qwenUsage(4_000), isSidechain: true, agentId: "explore-7f3c" }),
        qwen(8, "assistant", {
          ...qwenUsage(99_000),
          forkedFrom: { sessionId: "qwen-0", messageUuid: "q-8" },
        }),
        qwen(9, "system", {
          subtype: "custom_title",
          systemPayload: { customTitle: "Webhooks", titleSource: "manual" },
        }),
      ],
    },
  ],
  levels: { "qwen-1 main": [20_000, 180_000, 31_000], "qwen-1 agent-explore-7f3c": [4_000] },
  boundaries: { "qwen-1 main": ["compacted"] },
};

/** Recordings of the harnesses that keep one history for each agent. */
export const SAMPLES: readonly SampleRecording[] = [geminiCli, qwenCode];
