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

/** Recordings of the harnesses that keep one history for each agent. */
export const SAMPLES: readonly SampleRecording[] = [geminiCli];
