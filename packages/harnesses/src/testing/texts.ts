import type { Format } from "../recordings.ts";
import type { SampleFile } from "./recordings.ts";

/**
 * One conversation as each family records it. The agent is asked, thinks, reads a file, and answers in a second call. Then it may be told a
 * rule and compact before a third call.
 */
export interface ConversationSample {
  format: Format;
  files: (isCompacted: boolean) => SampleFile[];
}

export const SAID = {
  system: "You are an agent that helps with software.",
  prompt: "Find out why the load is wrong, and fix it.",
  thinking: "The file that divides by the window comes first.",
  answer: "I look at the file.",
  file: "/w/src/load.ts",
  result: "export const load = 0.5;\n".repeat(400),
  done: "It divides by the window.",
  rule: "Never change the load of a session that has ended.",
  summary: "The user asked: Find out why the load is wrong, and fix it. The agent read a file.",
  description: "Reads a file from the disk.",
} as const;
/** Context tokens of the calls. */
export const LEVELS = [3_000, 6_000, 4_000] as const;
const [FIRST, SECOND, THIRD] = LEVELS;

const START = Date.UTC(2026, 10, 20, 10);
const ms = (second: number) => START + second * 1_000;
const at = (second: number) => new Date(ms(second)).toISOString();
const path = { path: SAID.file };

const gemini = (second: number, type: string, content: unknown, more: object = {}) => ({
  ...{ id: `g-${second}`, timestamp: at(second), type, content },
  ...more,
});
const geminiSaid = (second: number, input: number, content: string, more: object = {}) =>
  gemini(second, "gemini", content, {
    ...{
      model: "gemini-3-pro",
      tokens: { input, cached: 0, output: 9, thoughts: 0, tool: 0, total: input + 9 },
    },
    ...{ thoughts: [{ subject: "Plan", description: SAID.thinking }], ...more },
  });
const geminiResult = [{ functionResponse: { id: "c1", name: "read", response: { output: SAID.result } } }];
const geminiCli: ConversationSample = {
  format: "gemini-cli",
  files: (isCompacted) => [
    {
      path: "chats/session-2026-11-20T10-00-aaaaaaaa.jsonl",
      lines: [
        { sessionId: "s", projectHash: "h", startTime: at(0), lastUpdated: at(0), kind: "main" },
        gemini(1, "user", [{ text: SAID.prompt }]),
        geminiSaid(2, FIRST, SAID.answer, {
          toolCalls: [{ id: "c1", name: "read", args: path, status: "success", result: geminiResult }],
        }),
        gemini(4, "info", "A notice for the person."),
        geminiSaid(5, SECOND, SAID.done),
        ...(isCompacted
          ? [
              gemini(6, "user", [{ text: SAID.rule }]),
              {
                $set: {
                  messages: [
                    gemini(7, "user", [{ text: `<state_snapshot>${SAID.summary}</state_snapshot>` }]),
                    geminiSaid(5, SECOND, SAID.done),
                  ],
                  lastUpdated: at(7),
                },
              },
              geminiSaid(9, THIRD, "Done."),
            ]
          : []),
      ],
    },
  ],
};

const qwen = (second: number, type: string, more: object) => ({
  ...{ uuid: `q-${second}`, parentUuid: null, sessionId: "s", timestamp: at(second), type },
  ...{ cwd: "/w", version: "0.21.0", ...more },
});
const qwenSaid = (second: number, promptTokenCount: number, parts: object[]) =>
  qwen(second, "assistant", {
    ...{ model: "qwen3-coder-plus", message: { role: "model", parts } },
    usageMetadata: { promptTokenCount, candidatesTokenCount: 9, totalTokenCount: promptTokenCount + 9 },
  });
const qwenAsked = (second: number, text: string) =>
  qwen(second, "user", { message: { role: "user", parts: [{ text }] } });
const qwenCode: ConversationSample = {
  format: "qwen-code",
  files: (isCompacted) => [
    {
      path: "projects/-w/chats/s.jsonl",
      lines: [
        qwenAsked(1, SAID.prompt),
        qwenSaid(2, FIRST, [
          { text: SAID.thinking, thought: true },
          { text: SAID.answer },
          { functionCall: { id: "c1", name: "read", args: path } },
        ]),
        qwen(3, "tool_result", { message: { role: "user", parts: geminiResult } }),
        qwenSaid(5, SECOND, [{ text: SAID.done }]),
        ...(isCompacted
          ? [
              qwenAsked(6, SAID.rule),
              qwen(7, "system", {
                subtype: "chat_compression",
                systemPayload: {
                  info: { compressionStatus: 1 },
                  compressedHistory: [
                    { role: "user", parts: [{ text: `<state_snapshot>${SAID.summary}</state_snapshot>` }] },
                    { role: "model", parts: [{ text: SAID.done }] },
                  ],
                },
              }),
              qwenSaid(9, THIRD, [{ text: "Done." }]),
            ]
          : []),
      ],
    },
  ],
};

const wire = (second: number, type: string, payload: object) => ({
  timestamp: ms(second) / 1_000,
  message: { type, payload },
});
const wireStatus = (second: number, input_other: number) =>
  wire(second, "StatusUpdate", {
    token_usage: { input_other, output: 9, input_cache_read: 0, input_cache_creation: 0 },
    message_id: `m-${second}`,
  });
const kimi: ConversationSample = {
  format: "kimi",
  files: (isCompacted) => [
    {
      path: "sessions/0a/s/wire.jsonl",
      lines: [
        { type: "metadata", protocol_version: "1.9" },
        wire(1, "TurnBegin", { user_input: SAID.prompt }),
        wire(1.5, "ContentPart", { type: "think", think: SAID.thinking }),
        wire(1.6, "ContentPart", { type: "text", text: SAID.answer }),
        wire(1.7, "ToolCall", {
          ...{ type: "function", id: "c1", function: { name: "read", arguments: JSON.stringify(path) } },
        }),
        // A tool may end before the call is counted.
        wire(1.8, "ToolResult", {
          tool_call_id: "c1",
          return_value: { is_error: false, output: SAID.result },
        }),
        wireStatus(2, FIRST),
        wire(4, "ContentPart", { type: "text", text: SAID.done }),
        wireStatus(5, SECOND),
        ...(isCompacted
          ? [
              wire(6, "TurnBegin", { user_input: SAID.rule }),
              wire(7, "CompactionBegin", {}),
              wire(7.5, "CompactionEnd", {}),
              wireStatus(9, THIRD),
            ]
          : []),
      ],
    },
  ],
};

const record = (second: number, type: string, more: object) => ({ type, ...more, time: ms(second) });
const kimiUsage = (second: number, inputOther: number) =>
  record(second, "usage.record", {
    ...{ model: "kimi-code/kimi-k3", usageScope: "turn" },
    usage: { inputOther, output: 9, inputCacheRead: 0, inputCacheCreation: 0 },
  });
const kimiStep = (second: number, event: object) => record(second, "context.append_loop_event", { event });
const kimiAsked = (second: number, text: string) =>
  record(second, "context.append_message", {
    message: { role: "user", content: [{ type: "text", text }], toolCalls: [], origin: { kind: "user" } },
  });
const kimiCode: ConversationSample = {
  format: "kimi",
  files: (isCompacted) => [
    {
      path: "sessions/wd/s/agents/main/wire.jsonl",
      lines: [
        { type: "metadata", protocol_version: "1.5", created_at: ms(0) },
        record(0, "config.update", { systemPrompt: SAID.system }),
        record(0, "llm.tools_snapshot", {
          hash: "h",
          tools: [{ name: "read", description: SAID.description, parameters: { type: "object" } }],
        }),
        record(1, "turn.prompt", { input: [{ type: "text", text: SAID.prompt }] }),
        kimiAsked(1, SAID.prompt),
        kimiStep(1.5, { type: "step.begin", uuid: "s1", step: 1 }),
        kimiStep(1.6, {
          ...{
            type: "content.part",
            uuid: "e1",
            stepUuid: "s1",
            part: { type: "think", think: SAID.thinking },
          },
        }),
        kimiStep(1.7, {
          ...{ type: "content.part", uuid: "e2", stepUuid: "s1", part: { type: "text", text: SAID.answer } },
        }),
        kimiUsage(2, FIRST),
        kimiStep(2.1, {
          ...{ type: "tool.call", uuid: "e3", stepUuid: "s1", toolCallId: "c1", name: "read", args: path },
        }),
        kimiStep(2.2, {
          type: "tool.result",
          parentUuid: "e3",
          toolCallId: "c1",
          result: { output: SAID.result },
        }),
        kimiStep(2.3, { type: "step.end", uuid: "s1", step: 1 }),
        kimiStep(4, {
          ...{ type: "content.part", uuid: "e4", stepUuid: "s2", part: { type: "text", text: SAID.done } },
        }),
        kimiUsage(5, SECOND),
        kimiStep(5, { type: "step.end", uuid: "s2", step: 2 }),
        ...(isCompacted
          ? [
              kimiAsked(6, SAID.rule),
              record(7, "context.apply_compaction", { summary: SAID.summary, contextSummary: SAID.summary }),
              kimiUsage(9, THIRD),
            ]
          : []),
      ],
    },
  ],
};

const piEntry = (second: number, type: string, parent: number | null, more: object) => ({
  ...{ type, id: `p-${second}`, parentId: parent === null ? null : `p-${parent}`, timestamp: at(second) },
  ...more,
});
const piSaid = (second: number, parent: number, input: number, content: object[]) =>
  piEntry(second, "message", parent, {
    message: {
      ...{ role: "assistant", content, model: "claude-sonnet-5", stopReason: "stop" },
      usage: { input, output: 9, cacheRead: 0, cacheWrite: 0, totalTokens: input + 9 },
    },
  });
const piLines = (isCompacted: boolean) => [
  piEntry(1, "message", null, { message: { role: "user", content: SAID.prompt } }),
  piSaid(2, 1, FIRST, [
    { type: "thinking", thinking: SAID.thinking },
    { type: "text", text: SAID.answer },
    { type: "toolCall", id: "c1", name: "read", arguments: path },
  ]),
  piEntry(3, "message", 2, {
    message: {
      ...{ role: "toolResult", toolCallId: "c1", toolName: "read", isError: false },
      content: [{ type: "text", text: SAID.result }],
    },
  }),
  // A branch that the person left.
  piEntry(3.5, "message", 3, { message: { role: "user", content: "A way that was given up. ".repeat(50) } }),
  piSaid(5, 3, SECOND, [{ type: "text", text: SAID.done }]),
  ...(isCompacted
    ? [
        piEntry(6, "message", 5, { message: { role: "user", content: SAID.rule } }),
        piEntry(7, "compaction", 6, { summary: SAID.summary, firstKeptEntryId: "p-5.5" }),
        piSaid(9, 7, THIRD, [{ type: "text", text: "Done." }]),
      ]
    : []),
];
const pi: ConversationSample = {
  format: "pi",
  files: (isCompacted) => [
    {
      path: "sessions/--w--/2026-11-20T10-00-00_s.jsonl",
      lines: [{ type: "session", version: 3, id: "s", timestamp: at(0), cwd: "/w" }, ...piLines(isCompacted)],
    },
  ],
};
const openclaw: ConversationSample = {
  format: "openclaw",
  files: (isCompacted) => [
    {
      path: "agents/main/agent/openclaw-agent.sqlite",
      lines: [
        { table: "session_windows", session_id: "s", created_at: ms(0) },
        ...piLines(isCompacted).map((entry, seq) => ({
          ...{ table: "transcript_events", session_id: "s", seq, event: JSON.stringify(entry) },
        })),
      ],
    },
  ],
};

const opencodeMessage = (second: number, id: string, data: object) => ({
  ...{ table: "message", id, session_id: "s", time_created: ms(second) },
  data: JSON.stringify({ time: { created: ms(second), completed: ms(second + 0.5) }, ...data }),
});
const opencodeSaid = (second: number, id: string, input: number, more: object = {}) =>
  opencodeMessage(second, id, {
    ...{ role: "assistant", modelID: "claude-opus-5", ...more },
    tokens: { input, output: 9, reasoning: 0, cache: { read: 0, write: 0 }, total: input + 9 },
  });
const opencodePart = (message: string, id: string, data: object) => ({
  ...{ table: "part", id, message_id: message, session_id: "s", time_created: ms(1) },
  data: JSON.stringify(data),
});
const opencode: ConversationSample = {
  format: "opencode",
  files: (isCompacted) => [
    {
      path: "opencode/opencode.db",
      lines: [
        { table: "session", id: "s", parent_id: null, title: "Load", time_created: ms(0) },
        opencodeMessage(1, "msg_1", { role: "user" }),
        opencodePart("msg_1", "prt_1", { type: "text", text: SAID.prompt }),
        opencodeSaid(2, "msg_2", FIRST),
        opencodePart("msg_2", "prt_2", { type: "reasoning", text: SAID.thinking }),
        opencodePart("msg_2", "prt_3", { type: "text", text: SAID.answer }),
        opencodePart("msg_2", "prt_4", {
          ...{ type: "tool", tool: "read", callID: "c1" },
          state: {
            ...{ status: "completed", input: path, output: SAID.result },
            time: { start: ms(2.1), end: ms(2.2) },
          },
        }),
        opencodeSaid(5, "msg_3", SECOND),
        opencodePart("msg_3", "prt_5", { type: "text", text: SAID.done }),
        ...(isCompacted
          ? [
              opencodeMessage(6, "msg_4", { role: "user" }),
              opencodePart("msg_4", "prt_6", { type: "text", text: SAID.rule }),
              opencodeMessage(6.5, "msg_5", { role: "user" }),
              opencodePart("msg_5", "prt_7", { type: "compaction", auto: true }),
              opencodeSaid(7, "msg_6", SECOND, { summary: true, mode: "compaction", parentID: "msg_5" }),
              opencodePart("msg_6", "prt_8", { type: "text", text: SAID.summary }),
              opencodeSaid(9, "msg_7", THIRD),
            ]
          : []),
      ],
    },
  ],
};

const cline: ConversationSample = {
  format: "cline",
  files: (isCompacted) => [
    {
      path: "sessions/s/s.messages.json",
      lines: [
        {
          ...{ version: 1, agent: "lead", sessionId: "s", updated_at: at(9) },
          messages: [
            { role: "user", ts: ms(1), content: [{ type: "text", text: SAID.prompt }] },
            {
              ...{ role: "assistant", id: "m1", ts: ms(2), metrics: { inputTokens: FIRST, outputTokens: 9 } },
              content: [
                { type: "thinking", thinking: SAID.thinking },
                { type: "text", text: SAID.answer },
                { type: "tool_use", id: "c1", name: "read", input: path },
              ],
            },
            {
              ...{ role: "user", ts: ms(3) },
              content: [{ type: "tool_result", tool_use_id: "c1", content: SAID.result }],
            },
            {
              ...{
                role: "assistant",
                id: "m2",
                ts: ms(5),
                metrics: { inputTokens: SECOND, outputTokens: 9 },
              },
              content: [{ type: "text", text: SAID.done }],
            },
            ...(isCompacted
              ? [
                  { role: "user", ts: ms(6), content: [{ type: "text", text: SAID.rule }] },
                  {
                    ...{ role: "user", ts: ms(7), metadata: { kind: "compaction_summary" } },
                    content: [{ type: "text", text: SAID.summary }],
                  },
                  {
                    role: "assistant",
                    id: "m3",
                    ts: ms(9),
                    metrics: { inputTokens: THIRD, outputTokens: 9 },
                  },
                ]
              : []),
          ],
        },
      ],
    },
  ],
};

const copilotEvent = (second: number, type: string, data: object) => ({
  ...{ id: `e-${second}`, timestamp: at(second), parentId: null, type, data },
});
const copilotUsage = (second: number, apiCallId: string, inputTokens: number) =>
  copilotEvent(second, "session.usage_record", {
    usage: {
      apiCallId,
      model: "gpt-4.1",
      inputTokens,
      outputTokens: 9,
      cacheReadTokens: 0,
      cacheWriteTokens: 0,
    },
  });
const copilot: ConversationSample = {
  format: "copilot",
  files: (isCompacted) => [
    {
      path: "session-state/s/events.jsonl",
      lines: [
        copilotEvent(0, "session.start", { sessionId: "s", selectedModel: "auto" }),
        copilotEvent(0.5, "system.message", { role: "system", content: SAID.system }),
        copilotEvent(1, "user.message", { content: SAID.prompt }),
        copilotEvent(1.5, "assistant.message", {
          ...{ messageId: "m1", apiCallId: "a1", content: SAID.answer, reasoningText: SAID.thinking },
          toolRequests: [{ toolCallId: "c1", name: "read", arguments: path }],
        }),
        copilotUsage(2, "a1", FIRST),
        copilotEvent(3, "tool.execution_complete", {
          ...{
            toolCallId: "c1",
            success: true,
            result: { content: SAID.result, detailedContent: SAID.result },
          },
        }),
        copilotEvent(4, "assistant.message", { messageId: "m2", apiCallId: "a2", content: SAID.done }),
        copilotUsage(5, "a2", SECOND),
        ...(isCompacted
          ? [
              copilotEvent(6, "user.message", { content: SAID.rule }),
              copilotEvent(7, "session.compaction_complete", { success: true, summaryContent: SAID.summary }),
              copilotUsage(9, "a3", THIRD),
            ]
          : []),
      ],
    },
  ],
};

const ampSaid = (messageId: number, second: number, inputTokens: number, content: object[]) => ({
  ...{ role: "assistant", messageId, content },
  usage: {
    model: "claude-opus-5",
    inputTokens,
    outputTokens: 9,
    maxInputTokens: 168_000,
    timestamp: at(second),
  },
});
const amp: ConversationSample = {
  format: "amp",
  files: () => [
    {
      path: "threads/T-1.json",
      lines: [
        {
          ...{ id: "T-1", created: ms(0), title: "Load" },
          messages: [
            { role: "user", content: [{ type: "text", text: SAID.prompt }], messageId: 0 },
            ampSaid(1, 2, FIRST, [
              { type: "thinking", thinking: SAID.thinking },
              { type: "text", text: SAID.answer },
              { type: "tool_use", id: "c1", name: "read", input: path },
            ]),
            {
              ...{ role: "user", messageId: 2 },
              content: [
                { type: "tool_result", toolUseID: "c1", run: { status: "done", result: SAID.result } },
              ],
            },
            ampSaid(3, 5, SECOND, [{ type: "text", text: SAID.done }]),
          ],
        },
      ],
    },
  ],
};

const atifStep = (id: number, second: number, source: string, more: object) => ({
  ...{ step_id: id, timestamp: at(second), source },
  ...more,
});
const atifMetrics = (prompt_tokens: number) => ({ metrics: { prompt_tokens, completion_tokens: 9 } });
const atif: ConversationSample = {
  format: "atif",
  files: (isCompacted) => [
    {
      path: "agent/trajectory.json",
      lines: [
        {
          ...{ schema_version: "ATIF-v1.8", session_id: "s" },
          agent: {
            ...{ name: "terminus-2", version: "2.0.0", model_name: "anthropic/claude-sonnet-4-6" },
            tool_definitions: [
              { type: "function", function: { name: "read", description: SAID.description } },
            ],
          },
          steps: [
            atifStep(1, 0, "system", { message: SAID.system }),
            atifStep(2, 1, "user", { message: SAID.prompt }),
            atifStep(3, 2, "agent", {
              ...{ message: SAID.answer, reasoning_content: SAID.thinking, ...atifMetrics(FIRST) },
              tool_calls: [{ tool_call_id: "c1", function_name: "read", arguments: path }],
              observation: { results: [{ source_call_id: "c1", content: SAID.result }] },
            }),
            atifStep(4, 5, "agent", { message: SAID.done, ...atifMetrics(SECOND) }),
            ...(isCompacted
              ? [
                  atifStep(5, 6, "user", { message: SAID.rule }),
                  atifStep(6, 7, "system", {
                    message: "Performed context summarization",
                    extra: { context_management: { type: "compaction", boundary: "replace" } },
                  }),
                  atifStep(7, 9, "agent", { message: "Done.", ...atifMetrics(THIRD) }),
                ]
              : []),
          ],
        },
      ],
    },
  ],
};

const miniSaid = (second: number, prompt_tokens: number, content: string) => ({
  ...{ role: "assistant", content },
  extra: {
    response: {
      ...{ id: `gen-${second}`, model: "gemini-3-pro-preview", created: ms(second) / 1_000 },
      usage: { prompt_tokens, completion_tokens: 9 },
    },
  },
});
const miniSweAgent: ConversationSample = {
  format: "mini-swe-agent",
  files: () => [
    {
      path: "runs/s/s.traj.json",
      lines: [
        {
          ...{ trajectory_format: "mini-swe-agent-1", instance_id: "s", info: {} },
          messages: [
            { role: "system", content: SAID.system },
            { role: "user", content: SAID.prompt },
            miniSaid(2, FIRST, `${SAID.answer}\n\n\`\`\`bash\ncat ${SAID.file}\n\`\`\``),
            { role: "user", content: `<returncode>0</returncode>\n<output>\n${SAID.result}</output>` },
            miniSaid(5, SECOND, SAID.done),
          ],
        },
      ],
    },
  ],
};

export const CONVERSATIONS: readonly ConversationSample[] = [
  ...[geminiCli, qwenCode, kimi, kimiCode, pi, openclaw, opencode, cline, copilot, amp, atif, miniSweAgent],
];
