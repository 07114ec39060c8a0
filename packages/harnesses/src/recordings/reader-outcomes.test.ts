import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createReader, type Format } from "../recordings.ts";
import { FIXTURES, foldEvents, hasFixtures, json, readAll } from "../testing/fold.ts";

const ms = (second: number) => Date.UTC(2026, 10, 20, 10, 0, second);
const at = (second: number) => new Date(ms(second)).toISOString();

/** In every text of every recording. No event may have it. */
const SECRET = "kestrel-4711";
const LIST = `ls ${SECRET}`;
const TEST = `npm test -- ${SECRET}`;
const SECRET_FILE = `src/${SECRET}.ts`;
const CORRECTION = `No, that is wrong, ${SECRET}`;

const claude = (second: number, type: string, message: object, more: object = {}) => ({
  ...{ type, uuid: `u-${second}`, sessionId: "s-1", isSidechain: false, timestamp: at(second), ...more },
  message: { role: type, ...message },
});
const claudeSaid = (second: number, id: string, ...content: object[]) =>
  claude(second, "assistant", {
    ...{ id, model: "claude-opus-5", content },
    usage: { input_tokens: 1_000 * second, output_tokens: 9 },
  });
const uses = (id: string, name: string, input: object) => ({ type: "tool_use", id, name, input });
const gave = (id: string, content: string, isError?: boolean) => ({
  ...{ type: "tool_result", tool_use_id: id, content },
  ...(isError !== undefined && { is_error: isError }),
});

const codex = (second: number, type: string, payload: object) => ({ timestamp: at(second), type, payload });
const codexCount = (second: number, input: number) =>
  codex(second, "event_msg", {
    type: "token_count",
    info: {
      last_token_usage: { input_tokens: input, output_tokens: 9, total_tokens: input + 9 },
      total_token_usage: { input_tokens: 2 * input, output_tokens: 9, total_tokens: 2 * input + 9 },
    },
  });
const codexRuns = (second: number, id: string, command: string) =>
  codex(second, "response_item", {
    ...{ type: "function_call", name: "exec_command", call_id: id },
    arguments: JSON.stringify({ cmd: command }),
  });
const codexPatches = (second: number, id: string) =>
  codex(second, "response_item", {
    ...{ type: "custom_tool_call", name: "apply_patch", call_id: id },
    input: `*** Begin Patch\n*** Update File: ${SECRET_FILE}\n@@\n-${id}\n*** End Patch`,
  });
const codexGave = (second: number, id: string, output: string, kind = "function") =>
  codex(second, "response_item", { type: `${kind}_call_output`, call_id: id, output });

const gemini = (second: number, id: string, ...toolCalls: object[]) => ({
  ...{ id, timestamp: at(second), type: "gemini", content: SECRET, model: "gemini-3-pro", toolCalls },
  tokens: { input: 1_000 * second, cached: 0, output: 9, thoughts: 0, tool: 0, total: 1_000 * second + 9 },
});
const printed = (output: string) => [{ functionResponse: { response: { output } } }];

const qwen = (second: number, type: string, more: object) => ({
  ...{ uuid: `q-${second}`, sessionId: "s-1", timestamp: at(second), type, cwd: "/w", version: "0.21.0" },
  ...more,
});
const qwenSaid = (second: number, ...calls: object[]) =>
  qwen(second, "assistant", {
    ...{ model: "qwen3-coder-plus", usageMetadata: { promptTokenCount: 1_000 * second, totalTokenCount: 0 } },
    message: { role: "model", parts: calls.map((functionCall) => ({ functionCall })) },
  });
const qwenGave = (second: number, callId: string, status: string) =>
  qwen(second, "tool_result", { message: { parts: [] }, toolCallResult: { callId, status, error: SECRET } });

const pi = (second: number, id: string, message: object) => ({
  ...{ type: "message", id, parentId: null, timestamp: at(second), message },
});
const piSaid = (second: number, id: string, ...content: object[]) =>
  pi(second, id, {
    ...{ role: "assistant", content, model: "claude-sonnet-5", stopReason: "toolUse" },
    usage: { input: 1_000 * second, output: 9, cacheRead: 0, cacheWrite: 0, totalTokens: 1_000 * second + 9 },
  });
const piGave = (second: number, call: string, isError: boolean) =>
  pi(second, `r-${second}`, {
    ...{ role: "toolResult", toolCallId: call, isError, content: [{ type: "text", text: SECRET }] },
  });

const opencode = (table: string, second: number, fields: object, data: object) => ({
  ...{ table, session_id: "ses_1", time_created: ms(second), ...fields },
  data: JSON.stringify(data),
});
const opencodeSaid = (second: number, id: string) =>
  opencode(
    "message",
    second,
    { id },
    {
      ...{ role: "assistant", time: { created: ms(second) }, modelID: "claude-opus-5" },
      tokens: { input: 1_000 * second, output: 9, reasoning: 0, cache: { read: 0, write: 0 } },
    },
  );
const opencodeTool = (second: number, message: string, tool: string, state: object) =>
  opencode(
    "part",
    second,
    { id: `p-${second}`, message_id: message },
    {
      type: "tool",
      tool,
      callID: `c-${second}`,
      state: { output: SECRET, time: { start: ms(second) }, ...state },
    },
  );

const kimi = (second: number, type: string, payload: object) => ({
  timestamp: ms(second) / 1_000,
  message: { type, payload },
});
const kimiCall = (second: number, id: string, name: string, input: object) =>
  kimi(second, "ToolCall", { type: "function", id, function: { name, arguments: JSON.stringify(input) } });
const kimiStatus = (second: number) =>
  kimi(second, "StatusUpdate", {
    ...{ max_context_tokens: 262_144, message_id: `k-${second}` },
    token_usage: { input_other: 1_000 * second, output: 9, input_cache_read: 0, input_cache_creation: 0 },
  });

const kimiUsage = (second: number) => ({
  ...{ type: "usage.record", time: ms(second), model: "kimi-code/kimi-k3", usageScope: "turn" },
  usage: { inputOther: 1_000 * second, output: 9, inputCacheRead: 0, inputCacheCreation: 0 },
});
const kimiStep = (second: number, event: object) => ({
  ...{ type: "context.append_loop_event", time: ms(second), event },
});

const copilot = (second: number, type: string, data: object) => ({
  ...{ id: `c-${second}`, timestamp: at(second), parentId: null, type, data },
});
const copilotSaid = (second: number, ...toolRequests: object[]) =>
  copilot(second, "assistant.message", {
    messageId: `m-${second}`,
    inputTokens: 1_000 * second,
    toolRequests,
  });

const cline = (messages: object[]) => ({
  ...{ version: 1, agent: "lead", sessionId: "s-1", updated_at: at(9), messages },
});
const clineSaid = (second: number, ...content: object[]) => ({
  ...{ role: "assistant", id: `cl-${second}`, ts: ms(second), content },
  metrics: { inputTokens: 1_000 * second, outputTokens: 9, cacheReadTokens: 0 },
});

const atif = (steps: object[]) => ({ schema_version: "ATIF-v1.8", session_id: "s-1", agent: {}, steps });
const atifStep = (second: number, ...calls: [string, object][]) => ({
  ...{ step_id: second, timestamp: at(second), source: "agent", message: SECRET },
  metrics: { prompt_tokens: 1_000 * second, completion_tokens: 9 },
  tool_calls: calls.map(([name, given], index) => ({
    ...{ tool_call_id: `${second}/${index}`, function_name: name, arguments: given },
  })),
});

const CASES: [Format, string, object[], object[]][] = [
  [
    "claude-code",
    "projects/p/s-1.jsonl",
    [
      claudeSaid(
        1,
        "m-1",
        uses("t-1", "Bash", { command: LIST }),
        uses("t-2", "Edit", { file_path: SECRET_FILE, a: 1 }),
      ),
      claude(2, "user", { content: [gave("t-1", SECRET), gave("t-2", SECRET)] }),
      // Two lines of one message.
      claudeSaid(3, "m-2", uses("t-3", "Bash", { command: TEST })),
      claude(3.1, "assistant", { ...claudeSaid(3, "m-2", uses("t-4", "Bash", { command: LIST })).message }),
      claude(4, "user", { content: [gave("t-3", `Exit code 1 ${SECRET}`, true), gave("t-4", SECRET)] }),
      claudeSaid(
        5,
        "m-3",
        uses("t-5", "Edit", { file_path: SECRET_FILE, a: 2 }),
        uses("t-6", "Bash", { command: "rm -r x" }),
      ),
      claude(6, "user", {
        content: [
          gave("t-5", SECRET),
          gave(
            "t-6",
            "The user doesn't want to proceed with this tool use. The tool use was rejected.",
            true,
          ),
        ],
      }),
      claude(7, "user", { content: CORRECTION }),
      claudeSaid(8, "m-4"),
    ],
    [
      { calls: 2 },
      { calls: 2, failed: 1, failed_tests: 1, repeated: 1 },
      { calls: 2, reedited: 1, rejected: 1, corrected: 1 },
      {},
    ],
  ],
  [
    "codex",
    "sessions/rollout-2026-11-20T10-00-00-019a0000-0000-7000-8000-00000000000a.jsonl",
    [
      codex(0, "session_meta", { id: "019a0000-0000-7000-8000-00000000000a", timestamp: at(0) }),
      codexRuns(1, "c-1", LIST),
      codexPatches(1.1, "c-2"),
      codexCount(2, 1_000),
      codexGave(
        2.1,
        "c-1",
        `Chunk ID: 1\nWall time: 0.1 seconds\nProcess exited with code 0\nOutput:\n${SECRET}`,
      ),
      codexGave(2.2, "c-2", JSON.stringify({ output: SECRET, metadata: { exit_code: 0 } }), "custom_tool"),
      codexRuns(3, "c-3", TEST),
      codexRuns(3.1, "c-4", LIST),
      codexCount(4, 2_000),
      codexGave(4.1, "c-3", `Exit code: 1\nWall time: 2 seconds\nOutput:\n${SECRET}`),
      codexGave(4.2, "c-4", `Exit code: 0\nOutput:\nExit code: 1`),
      codexPatches(5, "c-5"),
      codexRuns(5.1, "c-6", "rm -r x"),
      codexCount(6, 3_000),
      codexGave(6.1, "c-5", `apply_patch verification failed: ${SECRET}`, "custom_tool"),
      codexGave(6.2, "c-6", "exec command rejected by user"),
      codex(7, "event_msg", { type: "user_message", message: CORRECTION }),
      codexCount(8, 4_000),
    ],
    [
      { calls: 2 },
      { calls: 2, failed: 1, failed_tests: 1, repeated: 1 },
      { calls: 2, failed: 1, rejected: 1, reedited: 1, corrected: 1 },
      {},
    ],
  ],
  [
    "gemini-cli",
    "gemini/chats/session-a.jsonl",
    [
      { sessionId: "s-1", projectHash: "h", startTime: at(0), lastUpdated: at(0), kind: "main" },
      gemini(
        1,
        "g-1",
        {
          id: "t-1",
          name: "run_shell_command",
          args: { command: LIST },
          status: "success",
          result: printed(SECRET),
        },
        {
          id: "t-2",
          name: "replace",
          args: { file_path: SECRET_FILE, a: 1 },
          status: "success",
          result: printed(SECRET),
        },
      ),
      gemini(
        3,
        "g-2",
        {
          ...{ id: "t-3", name: "run_shell_command", args: { command: TEST }, status: "success" },
          result: printed(`Output: ${SECRET}\nExit Code: 1`),
        },
        { id: "t-4", name: "replace", args: { file_path: SECRET_FILE, a: 2 }, status: "cancelled" },
      ),
      { id: "u", timestamp: at(4), type: "user", content: [{ text: CORRECTION }] },
      gemini(5, "g-3", { id: "t-5", name: "read_file", args: { file_path: SECRET_FILE }, status: "error" }),
    ],
    [
      { calls: 2 },
      { calls: 2, failed: 1, failed_tests: 1, rejected: 1, reedited: 1, corrected: 1 },
      { calls: 1, failed: 1 },
    ],
  ],
  [
    "qwen-code",
    "qwen/projects/-w/chats/s-1.jsonl",
    [
      qwenSaid(1, { id: "t-1", name: "run_shell_command", args: { command: LIST } }),
      qwenGave(2, "t-1", "success"),
      qwenSaid(
        3,
        { id: "t-2", name: "run_shell_command", args: { command: LIST } },
        { id: "t-3", name: "edit", args: { a: 1 } },
      ),
      qwenGave(4, "t-2", "error"),
      qwenGave(4.5, "t-3", "cancelled"),
      qwen(5, "user", { message: { role: "user", parts: [{ text: CORRECTION }] } }),
      qwenSaid(6),
    ],
    [{ calls: 1 }, { calls: 2, repeated: 1, failed: 1, rejected: 1, corrected: 1 }, {}],
  ],
  [
    "pi",
    "pi/sessions/a_s-1.jsonl",
    [
      piSaid(1, "a1", { type: "toolCall", id: "t-1", name: "bash", arguments: { command: LIST } }),
      piGave(2, "t-1", false),
      piSaid(3, "a2", { type: "toolCall", id: "t-2", name: "bash", arguments: { command: TEST } }),
      piGave(4, "t-2", true),
      pi(5, "u", { role: "user", content: CORRECTION }),
    ],
    [{ calls: 1 }, { calls: 1, failed: 1, failed_tests: 1, corrected: 1 }],
  ],
  [
    "opencode",
    "opencode/opencode.db",
    [
      { table: "session", id: "ses_1", parent_id: null, title: "Title", time_created: ms(0) },
      opencodeSaid(1, "msg_1"),
      opencodeTool(1.1, "msg_1", "bash", {
        status: "completed",
        input: { command: LIST },
        metadata: { exit: 0 },
      }),
      opencodeSaid(3, "msg_2"),
      opencodeTool(3.1, "msg_2", "bash", {
        status: "completed",
        input: { command: TEST },
        metadata: { exit: 1 },
      }),
      opencodeTool(3.2, "msg_2", "edit", {
        ...{ status: "error", input: { filePath: SECRET_FILE } },
        error: `The user rejected permission to use this specific tool call. ${SECRET}`,
      }),
      opencodeSaid(5, "msg_3"),
      opencodeTool(5.1, "msg_3", "bash", { status: "completed", input: { command: LIST } }),
      opencodeTool(5.2, "msg_3", "read", { status: "error", input: {}, error: "File not found" }),
      opencodeTool(5.3, "msg_3", "read", { status: "running", input: { a: 1 } }),
    ],
    [
      { calls: 1 },
      { calls: 2, failed: 1, failed_tests: 1, rejected: 1 },
      { calls: 3, repeated: 1, failed: 1 },
    ],
  ],
  [
    "kimi",
    "kimi/sessions/0a/s-1/wire.jsonl",
    [
      kimiCall(1, "t-1", "Shell", { command: LIST }),
      kimiStatus(2),
      kimi(3, "ToolResult", { tool_call_id: "t-1", return_value: { is_error: false, output: SECRET } }),
      kimiCall(4, "t-2", "Shell", { command: LIST }),
      kimiStatus(5),
      kimi(6, "ToolResult", { tool_call_id: "t-2", return_value: { is_error: true, output: SECRET } }),
      kimi(7, "TurnBegin", { user_input: CORRECTION }),
    ],
    [{ calls: 1 }, { calls: 1, repeated: 1, failed: 1, corrected: 1 }],
  ],
  [
    "kimi",
    "kimi-code/sessions/wd/s-1/agents/main/wire.jsonl",
    [
      kimiUsage(1),
      kimiStep(2, { type: "tool.call", toolCallId: "t-1", name: "Shell", args: { command: LIST } }),
      kimiStep(3, { type: "tool.result", toolCallId: "t-1", result: { output: SECRET } }),
      kimiUsage(4),
      // Both have the time of the request's usage.
      kimiStep(4, { type: "tool.call", toolCallId: "t-2", name: "Shell", args: { command: LIST } }),
      kimiStep(5, { type: "tool.result", toolCallId: "t-2", result: { output: SECRET, isError: true } }),
      { type: "turn.prompt", time: ms(6), input: [{ type: "text", text: CORRECTION }] },
    ],
    [{ calls: 1 }, { calls: 1, repeated: 1, failed: 1, corrected: 1 }],
  ],
  [
    "copilot",
    "copilot/session-state/s-1/events.jsonl",
    [
      copilot(0, "session.start", { sessionId: "s-1" }),
      copilotSaid(1, { toolCallId: "t-1", name: "bash", arguments: { command: LIST } }),
      copilot(2, "tool.execution_complete", {
        toolCallId: "t-1",
        success: true,
        result: { content: SECRET },
      }),
      copilotSaid(3, { toolCallId: "t-2", name: "bash", arguments: { command: LIST } }),
      copilot(4, "tool.execution_complete", {
        toolCallId: "t-2",
        success: false,
        error: { message: SECRET },
      }),
      copilot(5, "user.message", { content: CORRECTION }),
    ],
    [{ calls: 1 }, { calls: 1, repeated: 1, failed: 1, corrected: 1 }],
  ],
  [
    "cline",
    ".cline/data/sessions/s-1/s-1.messages.json",
    [
      cline([
        clineSaid(1, uses("t-1", "run_command", { command: LIST })),
        { role: "user", ts: ms(2), content: [gave("t-1", SECRET)] },
        clineSaid(3, uses("t-2", "run_command", { command: LIST })),
        { role: "user", ts: ms(4), content: [gave("t-2", SECRET, true)] },
        { role: "user", ts: ms(5), content: [{ type: "text", text: CORRECTION }] },
      ]),
    ],
    [{ calls: 1 }, { calls: 1, repeated: 1, failed: 1, corrected: 1 }],
  ],
  [
    "atif",
    "jobs/run/agent/trajectory.json",
    [
      atif([
        atifStep(1, ["bash", { command: LIST }]),
        atifStep(2, ["bash", { command: LIST }], ["edit", { path: SECRET_FILE }]),
        { step_id: 3, timestamp: at(3), source: "user", message: CORRECTION },
      ]),
    ],
    [{ calls: 1 }, { calls: 2, repeated: 1, corrected: 1 }],
  ],
];

const known = (outcome: object | undefined) =>
  Object.fromEntries(Object.entries(outcome ?? {}).filter(([, count]) => count !== undefined && count !== 0));

describe.each(CASES)("recordings of %s", (format, path, lines, expected) => {
  const read = (titles: boolean) =>
    readAll(createReader(format, { harness: "h@host", titles }), [{ path, lines: json(...lines) }]).events;

  it("tell what came of the tool calls of each turn", () => {
    const [agent] = foldEvents(read(true)).values();
    expect(agent!.turns.map(({ turn }) => known(turn.outcome))).toEqual(expected);
  });

  it("give no word of a conversation", () => {
    expect(JSON.stringify(lines)).toContain(SECRET);
    expect(JSON.stringify(read(false))).not.toContain(SECRET);
  });
});

describe.skipIf(!hasFixtures)("real recordings of agentd", () => {
  it("tell what came of the commands of each inference", () => {
    const path = "agentd/clean-long--generational--guided-s1.jsonl";
    const lines = readFileSync(join(FIXTURES, path), "utf8").split("\n").filter(Boolean);
    const reader = createReader("agentd", { harness: "h@host", titles: false });
    const [agent] = foldEvents(readAll(reader, [{ path, lines }]).events).values();
    const sum = (name: "calls" | "failed" | "repeated") =>
      agent!.turns.reduce((all, { turn }) => all + (turn.outcome?.[name] ?? 0), 0);
    // 13 commands, 4 stores and 3 retrievals. One store failed.
    expect([sum("calls"), sum("failed")]).toEqual([20, 1]);
  });
});
