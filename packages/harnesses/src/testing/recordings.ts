import type { Format } from "../recordings.ts";

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

/** As the wire mode of Kimi CLI 1.49 documents it, and `records/types.ts` of Kimi Code. */
const wire = (second: number, type: string, payload: object) => ({
  timestamp: ms(second) / 1_000,
  message: { type, payload },
});
const status = (id: string, other: number, read: number) => ({
  context_usage: (other + read) / 262_144,
  context_tokens: other + read + 50,
  max_context_tokens: 262_144,
  token_usage: { input_other: other, output: 50, input_cache_read: read, input_cache_creation: 0 },
  message_id: id,
});
const kimiSub = wire(4, "StatusUpdate", status("k-sub", 3_000, 0));
const kimiCodeUsage = (second: number, other: number, read: number, usageScope: string) => ({
  type: "usage.record",
  time: ms(second),
  model: "kimi-code/kimi-k3",
  usage: { inputOther: other, output: 20, inputCacheRead: read, inputCacheCreation: 0 },
  usageScope,
});
const kimi: SampleRecording = {
  format: "kimi",
  files: [
    {
      path: "kimi/sessions/0a/kimi-1/wire.jsonl",
      lines: [
        { type: "metadata", protocol_version: "1.9" },
        wire(0, "TurnBegin", { user_input: "Fix the billing webhooks" }),
        wire(1, "StatusUpdate", status("k-1", 2_000, 60_000)),
        wire(2, "StatusUpdate", { context_usage: 0.3 }),
        wire(3, "StatusUpdate", status("k-2", 9_000, 200_000)),
        wire(4.5, "SubagentEvent", { agent_id: "a7", event: kimiSub.message }),
        wire(6, "CompactionBegin", {}),
        wire(7, "CompactionEnd", {}),
        wire(8, "StatusUpdate", status("k-3", 15_000, 6_000)),
      ],
    },
    { path: "kimi/sessions/0a/kimi-1/subagents/a7/wire.jsonl", lines: [kimiSub] },
    {
      path: "kimi-code/sessions/wd/kimi-2/agents/main/wire.jsonl",
      lines: [
        { type: "metadata", protocol_version: "1", created_at: ms(20) },
        { type: "turn.prompt", input: [{ type: "text", text: "Explain this" }], time: ms(20) },
        kimiCodeUsage(21, 900, 3_000, "turn"),
        kimiCodeUsage(22, 1_200, 3_900, "turn"),
        kimiCodeUsage(23, 70_000, 0, "session"),
        { type: "context.apply_compaction", tokensBefore: 5_100, tokensAfter: 1_000, time: ms(24) },
        kimiCodeUsage(25, 1_500, 0, "turn"),
      ],
    },
    {
      path: "kimi-code/sessions/wd/kimi-2/agents/agent-0/wire.jsonl",
      lines: [kimiCodeUsage(22.5, 500, 0, "turn")],
    },
  ],
  levels: {
    "kimi-1 main": [62_000, 209_000, 21_000],
    "kimi-1 agent-a7": [3_000],
    "kimi-2 main": [3_900, 5_100, 1_500],
    "kimi-2 agent-agent-0": [500],
  },
  boundaries: { "kimi-1 main": ["compacted"], "kimi-2 main": ["compacted"] },
};

/** As `docs/session.md` of pi describes it. */
const PI = "01234567-89ab-4cde-8f01-23456789abcd";
const PI_FORK = "11234567-89ab-4cde-8f01-23456789abcd";
const pi = (second: number, id: string, type: string, more: object) => ({
  type,
  id,
  parentId: null,
  timestamp: at(second),
  ...more,
});
const piSaid = (second: number, id: string, input: number, cacheRead: number) =>
  pi(second, id, "message", {
    message: {
      role: "assistant",
      content: [{ type: "text", text: "done" }],
      provider: "anthropic",
      model: "claude-sonnet-5",
      usage: {
        input,
        output: 30,
        cacheRead,
        cacheWrite: 100,
        totalTokens: input + cacheRead + 130,
        cost: { total: 0.01 },
      },
      stopReason: "stop",
      timestamp: ms(second),
    },
  });
const piHistory = [
  pi(1, "a1", "message", { message: { role: "user", content: "Fix the billing webhooks" } }),
  piSaid(2, "a2", 5, 20_000),
  piSaid(3, "a3", 400, 170_000),
];
const piSessions: SampleRecording = {
  format: "pi",
  files: [
    {
      path: `pi/sessions/--w--/2026-11-20T10-00-00_${PI}.jsonl`,
      lines: [
        { type: "session", version: 3, id: PI, timestamp: at(0), cwd: "/w" },
        ...piHistory,
        pi(4, "a4", "compaction", { summary: "…", firstKeptEntryId: "a3", tokensBefore: 172_900 }),
        piSaid(5, "a5", 900, 24_000),
        pi(6, "a6", "session_info", { name: "Webhooks" }),
        pi(7, "a7", "branch_summary", { fromId: "a5", summary: "…" }),
        piSaid(8, "a8", 900, 19_000),
        // An answer that failed, and the output of a tool.
        pi(9, "a9", "context_edit", { targetId: "a8", replacement: null }),
        piSaid(10, "b1", 900, 29_000),
        pi(11, "b2", "context_edit", { targetId: "b0", replacement: "…" }),
        piSaid(12, "b3", 900, 9_000),
      ],
    },
    {
      path: `pi/sessions/--w--/2026-11-20T10-01-00_${PI_FORK}.jsonl`,
      lines: [
        { type: "session", version: 3, id: PI_FORK, timestamp: at(60), cwd: "/w", parentSession: "/x.jsonl" },
        ...piHistory,
        piSaid(61, "f1", 10, 170_400),
      ],
    },
  ],
  levels: {
    [`${PI} main`]: [20_105, 170_500, 25_000, 20_000, 30_000, 10_000],
    [`${PI_FORK} main`]: [170_510],
  },
  boundaries: { [`${PI} main`]: ["compacted", "compacted", "masked"] },
};

/** As `session-events.ts` of the Copilot SDK describes it. */
const copilotEvent = (second: number, type: string, data: object, more: object = {}) => ({
  id: `c-${second}`,
  timestamp: at(second),
  parentId: null,
  type,
  data,
  ...more,
});
/** As Copilot CLI 1.0.102 writes it, without the fields that say nothing of levels. */
const copilotUsage = (
  second: number,
  apiCallId: string,
  inputTokens: number,
  usage: object,
  more: object = {},
) =>
  copilotEvent(
    second,
    "session.usage_record",
    {
      usage: {
        apiCallId,
        model: "gpt-4.1",
        inputTokens,
        outputTokens: 60,
        cacheReadTokens: 2_000,
        cacheWriteTokens: 0,
        duration: 22,
        maxPromptTokens: 64_000,
        maxOutputTokens: 16_384,
        ...usage,
      },
    },
    more,
  );
const copilot: SampleRecording = {
  format: "copilot",
  files: [
    {
      path: "copilot/session-state/copilot-1/events.jsonl",
      lines: [
        copilotEvent(0, "session.start", { sessionId: "copilot-1", selectedModel: "auto" }),
        copilotEvent(1, "user.message", { content: "Fix the billing webhooks" }),
        copilotEvent(2, "assistant.message", { messageId: "cm-1", model: "gpt-6", outputTokens: 80 }),
        copilotEvent(3, "assistant.message", { messageId: "cm-2", inputTokens: 90_000, outputTokens: 60 }),
        copilotEvent(4, "session.truncation", {
          tokenLimit: 128_000,
          preTruncationTokensInMessages: 94_000,
          postTruncationTokensInMessages: 90_000,
          messagesRemovedDuringTruncation: 3,
        }),
        copilotEvent(5, "assistant.message", { messageId: "cs-1", outputTokens: 50 }, { agentId: "agent-1" }),
        copilotEvent(6, "session.compaction_complete", {
          success: true,
          preCompactionTokens: 120_000,
          postCompactionTokens: 20_000,
          compactionTokensUsed: { inputTokens: 118_000, outputTokens: 900, cacheReadTokens: 110_000 },
        }),
        copilotEvent(7, "assistant.message", { messageId: "cm-3", inputTokens: 24_000, outputTokens: 60 }),
        copilotUsage(7.1, "cm-3", 24_000, { initiator: "user" }),
        copilotUsage(7.2, "cm-4", 26_000, { interactionType: "conversation-agent" }),
        copilotEvent(7.3, "assistant.message", { messageId: "m-4", apiCallId: "cm-4" }),
        copilotUsage(7.4, "cm-5", 26_500, { interactionType: "conversation-compaction" }),
        copilotUsage(7.5, "cm-6", 3_000, { interactionType: "conversation-background" }),
        copilotUsage(7.6, "cm-7", 4_000, { interactionType: "conversation-subagent" }),
        copilotUsage(
          7.7,
          "cm-8",
          5_000,
          { interactionType: "conversation-subagent" },
          { agentId: "agent-1" },
        ),
        copilotEvent(7.8, "session.model_change", { newModel: "gpt-5-mini" }, { agentId: "agent-1" }),
        copilotEvent(
          7.9,
          "session.truncation",
          { tokenLimit: 64_000, messagesRemovedDuringTruncation: 2 },
          { agentId: "agent-1" },
        ),
        copilotEvent(
          8,
          "session.compaction_complete",
          {
            success: true,
            trigger: "threshold",
            preCompactionTokens: 52_046,
            postCompactionTokens: 10_235,
            compactionTokensUsed: { inputTokens: 55_555, outputTokens: 53, cacheReadTokens: 0 },
          },
          { agentId: "agent-1" },
        ),
        copilotEvent(9, "session.shutdown", {
          shutdownType: "routine",
          modelMetrics: { "gpt-6": { usage: { inputTokens: 4_924_749, outputTokens: 23_611 } } },
        }),
      ],
    },
  ],
  levels: {
    "copilot-1 main": [undefined, 90_000, 118_000, 24_000, 26_000],
    "copilot-1 agent-agent-1": [undefined, 5_000, 55_555],
  },
  boundaries: {
    "copilot-1 main": ["masked", "compacted"],
    "copilot-1 agent-agent-1": ["masked", "compacted"],
  },
};

const ampSaid = (id: number, second: number, input: number, read: number) => ({
  role: "assistant",
  messageId: id,
  usage: {
    model: "claude-opus-5",
    inputTokens: input,
    outputTokens: 178,
    cacheCreationInputTokens: 986,
    cacheReadInputTokens: read,
    totalInputTokens: input + 986 + read,
    maxInputTokens: 168_000,
    timestamp: at(second),
  },
});
const amp: SampleRecording = {
  format: "amp",
  files: [
    {
      path: "amp/threads/T-amp-1.json",
      lines: [
        {
          id: "T-amp-1",
          created: ms(0),
          title: "Webhooks",
          messages: [
            { role: "user", content: "hi", messageId: 0 },
            ampSaid(1, 1, 10, 11_372),
            { role: "assistant", messageId: 2 },
            {
              ...ampSaid(3, 2, 5, 13_000),
              usage: { ...ampSaid(3, 2, 5, 13_000).usage, timestamp: undefined },
            },
          ],
          usageLedger: {
            events: [
              { id: "e", timestamp: at(1), model: "claude-opus-5", tokens: { input: 10 }, toMessageId: 1 },
              { id: "f", timestamp: at(3), model: "claude-opus-5", tokens: { input: 5 }, toMessageId: 3 },
            ],
          },
        },
      ],
    },
  ],
  levels: { "T-amp-1 main": [12_368, 13_991] },
  boundaries: {},
};

const clineRequest = (
  second: number,
  tokensIn: number | undefined,
  cacheReads: number,
  more: object = {},
) => ({
  ts: ms(second),
  type: "say",
  say: "api_req_started",
  text: JSON.stringify({ request: "…", tokensIn, tokensOut: 40, cacheWrites: 0, cacheReads, cost: 0.02 }),
  modelInfo: { providerId: "anthropic", modelId: "claude-sonnet-5", mode: "act" },
  ...more,
});
const cline: SampleRecording = {
  format: "cline",
  files: [
    {
      path: "saoudrizwan.claude-dev/tasks/1795000000000/ui_messages.json",
      lines: [
        [
          { ts: ms(0), type: "say", say: "task", text: "Fix the billing webhooks" },
          clineRequest(1, 12, 30_000),
          clineRequest(2, 800, 190_000),
          clineRequest(3, 700, 80_000, { conversationHistoryDeletedRange: [2, 41] }),
          clineRequest(4, 700, 81_000, { conversationHistoryDeletedRange: [2, 41] }),
          clineRequest(5, undefined, 0),
        ],
      ],
    },
    {
      path: ".cline/data/sessions/1795000000001_AB/1795000000001_AB.messages.json",
      lines: [
        {
          version: 1,
          agent: "lead",
          sessionId: "1795000000001_AB",
          updated_at: at(9),
          messages: [
            { role: "user", ts: ms(6), content: [{ type: "text", text: "Explain this" }] },
            {
              role: "assistant",
              id: "cl-1",
              ts: ms(7),
              modelInfo: { id: "gpt-6", provider: "openai" },
              metrics: { inputTokens: 40_000, outputTokens: 9, cacheReadTokens: 30_000, cost: 0.1 },
            },
            { role: "user", ts: ms(8), metadata: { kind: "compaction_summary", tokensBefore: 40_000 } },
            {
              role: "assistant",
              id: "cl-2",
              ts: ms(9),
              metrics: { inputTokens: 10, outputTokens: 9, cacheReadTokens: 8_000 },
            },
          ],
        },
      ],
    },
  ],
  levels: {
    "1795000000000 main": [30_012, 190_800, 80_700, 81_700],
    "1795000000001_AB main": [40_000, 8_010],
  },
  boundaries: { "1795000000000 main": ["masked"], "1795000000001_AB main": ["compacted"] },
};

const opencodeSession = (id: string, parent: string | null, title = "Webhooks", second = 0) => ({
  table: "session",
  id,
  parent_id: parent,
  title,
  time_created: ms(second),
});
export const opencodeMessage = (second: number, id: string, session: string, more: object) => ({
  table: "message",
  id,
  session_id: session,
  time_created: ms(second),
  data: JSON.stringify({
    role: "assistant",
    time: { created: ms(second), completed: ms(second + 0.5) },
    modelID: "claude-opus-5",
    providerID: "anthropic",
    cost: 0.01,
    ...more,
  }),
});
const opencodeTokens = (input: number, read: number) => ({
  tokens: { input, output: 20, reasoning: 5, cache: { read, write: 0 }, total: input + read + 25 },
});
const opencode: SampleRecording = {
  format: "opencode",
  files: [
    {
      path: "opencode/opencode.db",
      lines: [
        opencodeSession("ses_1", null),
        opencodeSession("ses_2", "ses_1"),
        opencodeSession("ses_3", "ses_2"),
        opencodeMessage(1, "msg_1", "ses_1", opencodeTokens(30, 50_000)),
        opencodeMessage(2, "msg_2", "ses_1", opencodeTokens(3_000, 170_000)),
        opencodeMessage(3, "msg_3", "ses_1", opencodeTokens(0, 0)),
        opencodeMessage(4, "msg_4", "ses_1", {
          ...opencodeTokens(172_000, 0),
          summary: true,
          mode: "compaction",
          parentID: "msg_u",
        }),
        {
          table: "part",
          id: "prt_1",
          message_id: "msg_u",
          session_id: "ses_1",
          time_created: ms(4),
          data: JSON.stringify({ type: "compaction", auto: false }),
        },
        opencodeMessage(6, "msg_5", "ses_1", opencodeTokens(9_000, 11_000)),
        opencodeMessage(3, "msg_6", "ses_2", opencodeTokens(4_000, 0)),
        opencodeMessage(3, "msg_7", "ses_3", opencodeTokens(700, 0)),
        // Forks have copies under ids of their own. One got another title.
        opencodeSession("ses_4", null, "Webhooks (fork #1)", 20),
        opencodeMessage(1, "msg_8", "ses_4", opencodeTokens(30, 50_000)),
        opencodeMessage(21, "msg_9", "ses_4", opencodeTokens(60, 50_000)),
        opencodeSession("ses_5", null, "Mine", 30),
        opencodeMessage(1, "msg_a", "ses_5", opencodeTokens(30, 50_000)),
        opencodeMessage(31, "msg_b", "ses_5", opencodeTokens(70, 50_000)),
      ],
    },
    {
      path: "opencode/storage/session/p/ses_old.json",
      lines: [{ id: "ses_old", projectID: "p", directory: "/w", title: "Old", time: { created: ms(0) } }],
    },
    {
      path: "opencode/storage/message/ses_old/msg_old.json",
      lines: [
        {
          id: "msg_old",
          sessionID: "ses_old",
          role: "assistant",
          time: { created: ms(1) },
          modelID: "gpt-6",
          ...opencodeTokens(100, 900),
        },
      ],
    },
  ],
  levels: {
    "ses_1 main": [50_030, 173_000, 172_000, 20_000],
    "ses_1 agent-ses_2": [4_000],
    "ses_1 agent-ses_3": [700],
    "ses_4 main": [50_060],
    "ses_5 main": [50_070],
    "ses_old main": [1_000],
  },
  boundaries: { "ses_1 main": ["compacted"] },
};

const zedThread = (id: string, second: number, input: number, more: object = {}) => ({
  table: "threads",
  id,
  summary: "Webhooks",
  updated_at: at(second),
  parent_id: null,
  thread: {
    model: { provider: "anthropic", model: "claude-opus-5" },
    prompts: ["u1", "u2"],
    request_token_usage: {
      u1: { input_tokens: 9_000, output_tokens: 10 },
      u2: { input_tokens: input, output_tokens: 10, cache_read_input_tokens: 40_000 },
    },
  },
  ...more,
});
const zed: SampleRecording = {
  format: "zed",
  files: [
    {
      path: "zed/threads/threads.db",
      lines: [zedThread("zed-1", 5, 1_000), zedThread("zed-2", 4, 500, { parent_id: "zed-1" })],
    },
  ],
  levels: { "zed-1 main": [41_000], "zed-1 agent-zed-2": [40_500] },
  boundaries: {},
};

/** As the ATIF specification describes it. Harbor's Terminus 2 names its files like this. */
const atifStep = (id: number, second: number, prompt: number, cached: number, more: object = {}) => ({
  step_id: id,
  timestamp: at(second),
  source: "agent",
  message: "done",
  metrics: { prompt_tokens: prompt, completion_tokens: 40, cached_tokens: cached, cost_usd: 0.01 },
  ...more,
});
const atifPrompt = { step_id: 1, timestamp: at(1), source: "user", message: "Fix the billing webhooks" };
const atifFile = (session: string, steps: object[], more: object = {}) => ({
  schema_version: "ATIF-v1.8",
  session_id: session,
  agent: { name: "terminus-2", version: "2.0.0", model_name: "anthropic/claude-sonnet-4-6" },
  steps,
  final_metrics: { total_prompt_tokens: 999_999, total_steps: steps.length },
  ...more,
});
const atifCompaction = {
  step_id: 4,
  timestamp: at(6),
  source: "system",
  message: "Performed context summarization",
  observation: {
    results: [{ subagent_trajectory_ref: [{ trajectory_path: "trajectory.summarization-1-summary.json" }] }],
  },
  extra: { context_management: { type: "compaction", boundary: "replace" } },
};
const atifRuns: SampleRecording = {
  format: "atif",
  files: [
    {
      path: "jobs/run/billing__1/agent/trajectory.json",
      lines: [
        atifFile(
          "atif-1",
          [
            atifPrompt,
            atifStep(2, 2, 50_000, 40_000),
            atifStep(3, 5, 90_000, 80_000, { llm_call_count: 1 }),
            atifCompaction,
            atifStep(5, 9, 20_000, 0),
            atifStep(6, 10, 75_000, 0, { llm_call_count: 3 }),
          ],
          {
            continued_trajectory_ref: "trajectory.cont-1.json",
            subagent_trajectories: [
              atifFile("atif-1", [atifStep(1, 3, 7_000, 0)], {
                trajectory_id: "look",
                subagent_trajectories: [
                  atifFile("atif-1", [atifStep(1, 4, 3_000, 0)], { trajectory_id: "read" }),
                ],
              }),
            ],
          },
        ),
      ],
    },
    {
      path: "jobs/run/billing__1/agent/trajectory.cont-1.json",
      lines: [
        atifFile("atif-1-cont-1", [
          atifPrompt,
          atifStep(2, 9, 20_000, 0, { is_copied_context: true }),
          atifStep(3, 11, 25_000, 20_000),
        ]),
      ],
    },
    {
      path: "jobs/run/billing__1/agent/trajectory.summarization-1-summary.json",
      lines: [atifFile("atif-1-summary", [atifStep(1, 6, 91_000, 0)])],
    },
  ],
  levels: {
    "atif-1 main": [50_000, 90_000, 20_000, 25_000],
    "atif-1 agent-look": [7_000],
    "atif-1 agent-look/read": [3_000],
    "atif-1 agent-atif-1-summary": [91_000],
  },
  boundaries: { "atif-1 main": ["compacted"] },
};

const miniAnswer = (second: number, prompt: number, command: string) => ({
  role: "assistant",
  content: `THOUGHT: Look.\n\n\`\`\`bash\n${command}\n\`\`\``,
  extra: {
    response: {
      id: `gen-${second}`,
      model: "google/gemini-3-pro-preview",
      created: Date.parse(at(second)) / 1_000,
      usage: {
        prompt_tokens: prompt,
        completion_tokens: 90,
        prompt_tokens_details: { cached_tokens: 0 },
        cost: 0.004,
      },
    },
  },
});
const miniReturn = (code: number) => ({
  role: "user",
  content: `<returncode>${code}</returncode>\n<output>\n</output>`,
});
const miniSweAgent: SampleRecording = {
  format: "mini-swe-agent",
  files: [
    {
      path: "runs/django__django-1/django__django-1.traj.json",
      lines: [
        {
          trajectory_format: "mini-swe-agent-1",
          instance_id: "django__django-1",
          info: { exit_status: "Submitted" },
          messages: [
            { role: "system", content: "You are a helpful assistant." },
            { role: "user", content: "Fix it." },
            miniAnswer(1, 1_600, "ls"),
            miniReturn(0),
            miniAnswer(3, 2_300, "grep -rn separable ."),
            miniReturn(1),
          ],
        },
      ],
    },
  ],
  levels: { "django__django-1 main": [1_600, 2_300] },
  boundaries: {},
};

/** As aaif-goose/goose session_manager.rs @ 017176d fills its ledger. */
const gooseSession = (id: string, type: string, parent: string | null) => ({
  table: "sessions",
  id,
  name: "Webhooks",
  user_set_name: 0,
  session_type: type,
  parent_session_id: parent,
  created_ms: ms(0),
});
const gooseCall = (id: number, second: number, input: number, more: object = {}) => ({
  table: "usage_ledger",
  id,
  session_id: "20261120_1",
  created_timestamp: ms(second) / 1_000,
  nth_of_second: 0,
  model: "claude-opus-5",
  input_tokens: input,
  output_tokens: 30,
  total_tokens: input + 30,
  cache_read_tokens: input - 10,
  cache_write_tokens: 0,
  cost: 0.01,
  cost_source: "estimated",
  is_compaction: 0,
  ...more,
});
const goose: SampleRecording = {
  format: "goose",
  files: [
    {
      path: "goose/sessions/sessions.db",
      lines: [
        gooseSession("20261120_1", "user", null),
        gooseSession("20261120_2", "sub_agent", "20261120_1"),
        gooseSession("20261120_3", "sub_agent", "20261120_2"),
        // A parent alone makes no sub-agent.
        gooseSession("20261120_4", "scheduled", "20261120_1"),
        gooseCall(1, 1, 4_000_000, { cost_source: "carried_forward", model: null }),
        gooseCall(2, 1, 50_000, { nth_of_second: 1 }),
        gooseCall(3, 2, 90_000),
        gooseCall(4, 2, 91_000, { nth_of_second: 1, is_compaction: 1 }),
        gooseCall(5, 2, 12_000, { nth_of_second: 2 }),
        gooseCall(6, 3, 0, { input_tokens: null, total_tokens: null }),
        gooseCall(7, 2, 4_000, { session_id: "20261120_2" }),
        gooseCall(8, 2, 700, { session_id: "20261120_3" }),
        gooseCall(9, 4, 8_000, { session_id: "20261120_4" }),
      ],
    },
  ],
  levels: {
    "20261120_1 main": [50_000, 90_000, 91_000, 12_000],
    "20261120_1 agent-20261120_2": [4_000],
    "20261120_1 agent-20261120_3": [700],
    "20261120_4 main": [8_000],
  },
  boundaries: { "20261120_1 main": ["compacted"] },
};

/** As OpenClaw 2026.9.6 writes it, without the fields that say nothing of levels. */
const openclawWindow = (id: string, parent: string | null) => ({
  table: "session_windows",
  session_id: id,
  created_at: ms(0),
  label: null,
  display_name: "Webhooks",
  spawned_by_session: parent,
});
const openclawEvent = (session: string, second: number, type: string, more: object) => ({
  table: "transcript_events",
  session_id: session,
  seq: second,
  event: JSON.stringify({ type, id: `oc-${second}`, parentId: null, timestamp: at(second), ...more }),
});
const openclawSaid = (
  session: string,
  second: number,
  input: number,
  usage: object = {},
  api = "openai-responses",
) =>
  openclawEvent(session, second, "message", {
    message: {
      role: "assistant",
      content: [{ type: "text", text: "Done." }],
      api,
      provider: "local",
      model: "gpt-6",
      usage: { input, output: 3, cacheRead: 1_000, cacheWrite: 0, totalTokens: input + 1_003, ...usage },
      stopReason: "stop",
    },
  });
const openclawHeader = (session: string, second: number, more: object = {}) =>
  openclawEvent(session, second, "session", { version: 4, id: session, cwd: "/w", ...more });
const openclaw: SampleRecording = {
  format: "openclaw",
  files: [
    {
      path: ".openclaw/agents/main/agent/openclaw-agent.sqlite",
      lines: [
        openclawWindow("claw-1", null),
        openclawWindow("claw-2", "claw-1"),
        openclawWindow("claw-3", null),
        openclawHeader("claw-1", 0),
        openclawSaid("claw-1", 1, 50_000),
        // The level that OpenClaw knows, beside the sum of a turn.
        openclawSaid("claw-1", 2, 900_000, {
          contextUsage: { state: "available", promptTokens: 90_000, totalTokens: 90_003 },
        }),
        openclawSaid("claw-1", 3, 950_000, { contextUsage: { state: "unavailable" } }),
        openclawSaid("claw-1", 4, 960_000, {}, "cli"),
        openclawEvent("claw-1", 5, "compaction", {
          summary: "So far",
          firstKeptEntryId: "oc-3",
          tokensBefore: 90_000,
        }),
        openclawSaid("claw-1", 6, 11_000),
        openclawEvent("claw-1", 7, "reset", { reason: "new" }),
        openclawSaid("claw-1", 8, 4_000),
        openclawSaid("claw-1", 9, 0, { output: 0, cacheRead: 0, totalTokens: 0 }),
        openclawHeader("claw-2", 3),
        openclawSaid("claw-2", 4, 6_000),
        openclawHeader("claw-3", 10, { parentSession: "claw-1" }),
        openclawSaid("claw-3", 8, 4_000),
        openclawSaid("claw-3", 11, 5_000),
      ],
    },
  ],
  levels: {
    "claw-1 main": [51_000, 90_000, 12_000, 5_000],
    "claw-1 agent-claw-2": [7_000],
    "claw-3 main": [6_000],
  },
  boundaries: { "claw-1 main": ["compacted", "cleared"] },
};

/** As mistral-vibe 2.18.4 writes it, without prompts and tools. */
const vibeMeta = (folder: string, id: string, second: number, prompt: number, more: object = {}) => ({
  path: `.vibe/logs/session/${folder}/meta.json`,
  lines: [
    {
      session_id: id,
      parent_session_id: null,
      start_time: at(0),
      end_time: at(second),
      title: "Webhooks",
      title_source: "auto",
      stats: {
        steps: second,
        session_prompt_tokens: 4_000_000,
        session_completion_tokens: 9_000,
        context_tokens: prompt + 30,
        last_turn_prompt_tokens: prompt,
        last_turn_completion_tokens: 30,
      },
      total_messages: 8,
      config: { active_model: "devstral", models: [{ name: "devstral-2512", alias: "devstral" }] },
      ...more,
    },
  ],
});
const vibeCompacted = {
  context_tokens: 0,
  last_turn_prompt_tokens: 170_000,
  last_turn_completion_tokens: 700,
  steps: 9,
};
const mistralVibe: SampleRecording = {
  format: "mistral-vibe",
  files: [
    vibeMeta("session_1", "vibe-1", 5, 90_000),
    vibeMeta("session_1/agents/explore_2", "vibe-sub", 4, 6_000),
    // The session after its compaction, before its first call.
    vibeMeta("session_3", "vibe-3", 9, 0, { parent_session_id: "vibe-1", stats: vibeCompacted }),
    vibeMeta("session_4", "vibe-4", 12, 8_000, { parent_session_id: "vibe-1" }),
    vibeMeta("gone/agents/explore_5", "vibe-5", 12, 3_000),
    {
      path: ".vibe/logs/session/session_1/messages.jsonl",
      lines: [{ role: "user", content: "Fix the billing webhooks", injected: false, message_id: "m-1" }],
    },
  ],
  levels: {
    "vibe-1 main": [90_000],
    "vibe-1 agent-vibe-sub": [6_000],
    "vibe-4 main": [8_000],
    "vibe-5 main": [3_000],
  },
  boundaries: {},
};

/** As kiro-cli 2.24.1 writes it, without messages. */
const kiroTurn = (second: number, percent: number, message: string, more: object = {}) => ({
  loop_id: { agent_id: { name: "kiro_default", parent_id: null, rand: null }, rand: second },
  message_ids: [`p-${second}`, message],
  end_reason: "UserTurnEnd",
  end_timestamp: at(second),
  input_token_count: 0,
  output_token_count: 0,
  context_usage_percentage: percent,
  ...more,
});
const kiroSession = (id: string, info: object | null, turns: object[]) => ({
  path: `.kiro/sessions/cli/${id}.json`,
  lines: [
    {
      session_id: id,
      cwd: "/w",
      created_at: at(0),
      updated_at: at(30),
      title: "Webhooks",
      session_state: {
        version: "v1",
        conversation_metadata: { user_turn_metadatas: turns },
        rts_model_state: { conversation_id: id, model_info: info, context_usage_percentage: 4.5807 },
      },
    },
  ],
});
const opusWindow = { model_id: "claude-opus-5.5", context_window_tokens: 1_000_000 };
const onOpus = { model: "claude-opus-5.5" };
const kiro: SampleRecording = {
  format: "kiro",
  files: [
    kiroSession("11111111-0000-4000-8000-000000000001", opusWindow, [
      // Another model, whose window is not in the file.
      kiroTurn(1, 3.1171, "a-1", { model: "auto" }),
      kiroTurn(2, 81.25, "a-2", onOpus),
      kiroTurn(3, 81.25, "a-2", onOpus),
      kiroTurn(4, 4.5807, "a-4", onOpus),
      kiroTurn(5, 2, "a-5", {
        ...onOpus,
        loop_id: { agent_id: { name: "explore", parent_id: "kiro_default", rand: null }, rand: 5 },
      }),
      { ...kiroTurn(6, 5, "a-6", onOpus), message_ids: ["p-6", null] },
    ]),
    // Before turns had a model, only the last one is that of the window.
    kiroSession("11111111-0000-4000-8000-000000000002", { ...opusWindow, context_window_tokens: 200_000 }, [
      kiroTurn(1, 50, "b-1"),
      kiroTurn(2, 10, "b-2"),
    ]),
    kiroSession("11111111-0000-4000-8000-000000000003", null, [kiroTurn(1, 50, "c-1")]),
    {
      path: ".kiro/sessions/cli/11111111-0000-4000-8000-000000000001.jsonl",
      lines: [{ version: "v1", kind: "Compaction", data: { summary: "So far", messages_snapshot: [] } }],
    },
  ],
  levels: {
    "11111111-0000-4000-8000-000000000001 main": [812_500, 45_807, 50_000],
    "11111111-0000-4000-8000-000000000002 main": [20_000],
  },
  boundaries: {},
};

/** As format 4 of DeepSeek Harness has it, without texts and streams. */
const dshHeader = (id: string, second: number, more: object = {}) => ({
  type: "session",
  version: 4,
  id,
  createdAt: ms(second),
  cwd: "/w",
  delegationDepth: 0,
  ...more,
});
const dshEvent = (second: number, type: string, data: object) => ({
  type,
  seq: second * 10,
  time: ms(second),
  data,
});
const dshUsage = (inputTokens: number, cacheReadTokens: number) => ({
  inputTokens,
  outputTokens: 20,
  cacheReadTokens,
  reasoningTokens: 5,
  totalTokens: inputTokens + cacheReadTokens + 20,
});
const dshSaid = (second: number, step: number, input: number, read: number) =>
  dshEvent(second, "assistant/message", {
    turn: 1,
    step,
    message: { role: "assistant", source: { kind: "llm", model: "deepseek-v4-pro" } },
    usage: dshUsage(input, read),
  });
const dshAsked = dshEvent(1, "user/message", {
  content: [{ type: "text", text: "Fix the billing webhooks" }],
  source: { kind: "user" },
});
const dshUsageChunk = { type: "usage", usage: dshUsage(900, 100) };
const dshLines = [
  dshHeader("dsh-1", 0),
  dshAsked,
  dshEvent(1.5, "request/header", { header: { config: { model: "deepseek-v4-flash" } } }),
  dshEvent(2, "assistant/attempt", { turn: 1, step: 1, stream: [{ type: "chunk", chunk: dshUsageChunk }] }),
  dshSaid(3, 1, 2_000, 48_000),
  dshEvent(3.5, "compaction/prune", { shadowedSeqs: [11, 12], shadowedTokenCount: 9_000 }),
  dshSaid(4, 2, 1_000, 89_000),
  dshEvent(5, "compact/start", { turn: null }),
  dshEvent(6, "compact/summary", { summary: [], model: "deepseek-v4-flash", usage: dshUsage(91_000, 0) }),
  dshEvent(7, "compact/end", { turn: null }),
  dshEvent(7.5, "compact/end", { turn: 1, error: "cancelled" }),
  dshSaid(8, 3, 12_000, 0),
  dshEvent(9, "tool/call", { name: "bash", arguments: "{}" }),
];
const dsh: SampleRecording = {
  format: "dsh",
  files: [
    { path: ".dsh/sessions/--w--/dsh-1/session.v4.jsonl", lines: dshLines },
    // What was migrated, with other numbers.
    {
      path: ".dsh/sessions/--w--/dsh-1/session.jsonl",
      lines: dshLines.map((line) => ("seq" in line ? { ...line, seq: line.seq + 7 } : line)),
    },
    {
      path: ".dsh/sessions/--w--/dsh-2/session.v4.jsonl",
      lines: [
        dshHeader("dsh-2", 3, { parentSession: "dsh-1", origin: "subagent", delegationDepth: 1 }),
        dshSaid(4, 1, 6_000, 0),
      ],
    },
    {
      path: ".dsh/sessions/--w--/dsh-3/session.v4.jsonl",
      lines: [
        dshHeader("dsh-3", 20, { parentSession: "dsh-1", seedLength: 9 }),
        ...dshLines.slice(1),
        dshSaid(21, 4, 14_000, 0),
      ],
    },
    {
      path: ".dsh/sessions/--w--/dsh-4/session.jsonl",
      lines: [
        dshHeader("dsh-4", 0, { version: 0 }),
        dshAsked,
        dshEvent(2, "assistant/chunk", { turn: 1, step: 1, chunk: { type: "text", text: "D" } }),
        dshEvent(3, "assistant/chunk", { turn: 1, step: 1, chunk: dshUsageChunk }),
        dshSaid(4, 1, 900, 100),
      ],
    },
  ],
  levels: {
    "dsh-1 main": [1_000, 50_000, 90_000, 91_000, 12_000],
    "dsh-1 agent-dsh-2": [6_000],
    "dsh-3 main": [14_000],
    "dsh-4 main": [1_000],
  },
  boundaries: { "dsh-1 main": ["masked", "compacted"] },
};

export const SAMPLES: readonly SampleRecording[] = [
  geminiCli,
  qwenCode,
  kimi,
  piSessions,
  copilot,
  amp,
  cline,
  opencode,
  zed,
  atifRuns,
  miniSweAgent,
  goose,
  openclaw,
  mistralVibe,
  kiro,
  dsh,
];
