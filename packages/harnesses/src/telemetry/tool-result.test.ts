import { parseEvent } from "@plimsoll/protocol/events";
import { describe, expect, it } from "vitest";
import { readRecord } from "../telemetry.ts";
import { logSample, SAMPLE_AT, type SampleAttributes, spanSample } from "../testing/otlp.ts";

/** In every attribute that may hold words of a conversation. */
const SECRET = "xylophone-quartz";
const SAID: SampleAttributes = {
  tool_parameters: SECRET,
  tool_input: SECRET,
  error: SECRET,
  arguments: SECRET,
  output: SECRET,
  function_args: SECRET,
  metadata: SECRET,
  "error.message": SECRET,
  "gen_ai.tool.call.arguments": SECRET,
  "gen_ai.tool.call.result": SECRET,
  "input.value": SECRET,
  "output.value": SECRET,
  "ai.toolCall.args": SECRET,
  "ai.toolCall.result": SECRET,
  "traceloop.entity.input": SECRET,
};

/** A record of a source, with what it tells. */
interface ToolRecord {
  log?: string;
  resource?: SampleAttributes;
  attributes: SampleAttributes;
  failed?: boolean;
}

const read = ({ log, resource = {}, attributes, failed }: ToolRecord) => {
  const all = { ...SAID, ...attributes };
  const record =
    log === undefined
      ? spanSample({
          resource,
          attributes: all,
          ...(failed && {
            failed,
            events: [{ name: "exception", attributes: { "exception.message": SECRET } }],
          }),
        })
      : logSample({ resource, name: log, attributes: all });
  return readRecord(record).reading;
};

const claude = (name: string, attributes: SampleAttributes): ToolRecord => ({
  log: `claude_code.${name}`,
  resource: { "service.name": "claude-code" },
  attributes: {
    ...{ "event.name": name, "session.id": "s", tool_name: "Bash", "event.sequence": 7 },
    ...{ tool_use_id: "toolu_01", request_id: "req_011", ...attributes },
  },
});
const codex = (name: string, attributes: SampleAttributes): ToolRecord => ({
  log: "event otel/src/events/session_telemetry.rs:1153",
  resource: { "service.name": "codex_exec" },
  attributes: {
    ...{ "event.name": `codex.${name}`, "event.timestamp": "2026-11-20T10:00:01Z" },
    ...{ "conversation.id": "s", tool_name: "shell", call_id: "call_1", ...attributes },
  },
});
const gemini = (attributes: SampleAttributes): ToolRecord => ({
  log: "gemini_cli.tool_call",
  resource: { "service.name": "gemini-cli" },
  attributes: {
    ...{ "session.id": "s", prompt_id: "s########3", function_name: "read_file", duration_ms: 12 },
    ...{ start_time: 5, ...attributes },
  },
});
const qwen = (attributes: SampleAttributes): ToolRecord => ({
  log: "qwen-code.tool_call",
  resource: { "service.name": "qwen-code" },
  attributes: {
    ...{ "session.id": "s", prompt_id: "s########2", function_name: "edit", duration_ms: 9 },
    ...{ response_id: "chatcmpl-9f2c1a", ...attributes },
  },
});
const genAi = (attributes: SampleAttributes, failed = false): ToolRecord => ({
  resource: { "service.name": "bot" },
  failed,
  attributes: { "gen_ai.operation.name": "execute_tool", "gen_ai.conversation.id": "s", ...attributes },
});
const inference = (failed: boolean): ToolRecord => ({
  resource: { "service.name": "bot" },
  failed,
  attributes: { "openinference.span.kind": "TOOL", "session.id": "s", "tool.name": "search" },
});
const traceloop = (failed: boolean): ToolRecord => ({
  failed,
  attributes: { "traceloop.span.kind": "tool", "traceloop.association.properties.session_id": "s" },
});
const aiSdk = (attributes: SampleAttributes, failed = false): ToolRecord => ({
  failed,
  attributes: {
    ...{ "ai.operationId": "ai.toolCall", "ai.toolCall.name": "search" },
    ...{ "ai.toolCall.id": "aitxt-Y2hlY2sgdGhpcw", "ai.telemetry.metadata.sessionId": "s", ...attributes },
  },
});

const ENDS: [string, ToolRecord, object][] = [
  [
    "Claude Code",
    claude("tool_result", { success: "true" }),
    { id: "tool/toolu_01", result: "ok", turn: "req_011" },
  ],
  ["Claude Code", claude("tool_result", { success: false }), { result: "failed", agent: undefined }],
  [
    "Claude Code, of a sub-agent",
    claude("tool_result", { success: "true", agent_id: "a1", parent_agent_id: "a0" }),
    { agent: "agent-a1", parent_agent: "agent-a0" },
  ],
  [
    "Claude Code",
    claude("tool_decision", { decision: "reject", source: "user_reject" }),
    { id: "tool/toolu_01", result: "rejected" },
  ],
  [
    "Claude Code",
    claude("tool_decision", { decision: "reject", source: "user_abort" }),
    { result: "rejected" },
  ],
  ["Claude Code", claude("tool_decision", { decision: "reject", source: "config" }), { result: "failed" }],
  [
    "Codex",
    codex("tool_result", { success: "true" }),
    { id: "tool/call_1", at: SAMPLE_AT + 1_000, result: "ok", turn: undefined },
  ],
  ["Codex", codex("tool_result", { success: "false" }), { result: "failed" }],
  [
    "Codex",
    codex("tool_decision", { decision: "denied", source: "User" }),
    { id: "tool/call_1", result: "rejected" },
  ],
  ["Codex", codex("tool_decision", { decision: "abort", source: "user" }), { result: "rejected" }],
  ["Codex", codex("tool_decision", { decision: "denied", source: "config" }), { result: "failed" }],
  [
    "Gemini CLI",
    gemini({ success: true, decision: "auto_accept" }),
    { id: `tool/s########3/read_file/5/12/${SAMPLE_AT}`, result: "ok", turn: undefined, agent: undefined },
  ],
  ["Gemini CLI", gemini({ success: false, error_type: "file_not_found" }), { result: "failed" }],
  ["Gemini CLI", gemini({ success: false, decision: "reject" }), { result: "rejected" }],
  [
    "Gemini CLI, of a sub-agent",
    gemini({ success: true, prompt_id: "finder-x1#4" }),
    { agent: "agent-finder-x1", parent_agent: "main" },
  ],
  [
    "Qwen Code",
    qwen({ success: true, status: "success" }),
    { result: "ok", turn: "chatcmpl-9f2c1a", agent: undefined },
  ],
  [
    "Qwen Code",
    qwen({ success: false, status: "error", call_id: "c1" }),
    { id: "tool/c1", result: "failed" },
  ],
  ["Qwen Code", qwen({ success: false, status: "cancelled" }), { result: "rejected" }],
  ["Qwen Code", qwen({ success: false, decision: "reject" }), { result: "rejected" }],
  [
    "Qwen Code, of a sub-agent",
    qwen({ success: true, prompt_id: "s#general-1#4" }),
    { agent: "agent-general-1", parent_agent: "main" },
  ],
  [
    "the GenAI conventions",
    genAi({ "gen_ai.tool.call.id": "call_VSPygqKTWdrhaFErNvMV18Yl" }),
    { id: "tool/call_VSPygqKTWdrhaFErNvMV18Yl", result: "ok" },
  ],
  [
    "the GenAI conventions",
    genAi({ "gen_ai.tool.call.id": "call_0" }, true),
    { id: "tool/span/b7ad6b7169203331", result: "failed" },
  ],
  [
    "the GenAI conventions",
    genAi({ "gen_ai.tool.call.id": "functions.bash:12" }),
    { id: "tool/span/b7ad6b7169203331" },
  ],
  [
    "the GenAI conventions",
    genAi({ "error.type": "timeout", "gen_ai.agent.name": "finder" }),
    { result: "failed", agent: "finder" },
  ],
  ["OpenInference", inference(false), { result: "ok", witness: "openinference" }],
  ["OpenInference", inference(true), { result: "failed" }],
  ["OpenLLMetry", traceloop(false), { result: "ok", witness: "instrumentation" }],
  ["OpenLLMetry", traceloop(true), { result: "failed" }],
  ["the Vercel AI SDK", aiSdk({}), { id: "tool/aitxt-Y2hlY2sgdGhpcw", result: "ok" }],
  [
    "the Vercel AI SDK",
    aiSdk({ "ai.telemetry.functionId": "finder" }, true),
    { result: "failed", agent: "finder" },
  ],
];

describe("the end of a tool call", () => {
  it.each(ENDS)("is read from %s", (_, record, expected) => {
    const { events = [] } = read(record);
    expect(events).toMatchObject([{ type: "tool_result", session: "s", ...expected }]);
    expect(parseEvent(events[0])).toMatchObject({ ok: true });
    expect(read(record)).toEqual(read(record));
  });

  it.each(ENDS)("from %s has no word of a conversation", (_, record) => {
    expect(JSON.stringify(read(record))).not.toContain(SECRET);
  });

  const ofServer = (details: SampleAttributes) =>
    claude("tool_result", { success: "true", tool_name: "mcp_tool", ...details });
  it.each<[string, ToolRecord, string | undefined]>([
    ["Claude Code", claude("tool_result", { success: "true" }), "Bash"],
    ["Claude Code without details, of an MCP server", ofServer({}), undefined],
    [
      "Claude Code with details, of an MCP server",
      ofServer({ mcp_server_name: "git", mcp_tool_name: "log" }),
      "mcp__git__log",
    ],
    ["Codex", codex("tool_result", { success: "true" }), "shell"],
    ["Codex, of a namespace", codex("tool_result", { success: "true", tool_namespace: "git" }), undefined],
    ["Gemini CLI", gemini({ success: true }), "read_file"],
    ["Qwen Code", qwen({ status: "success" }), "edit"],
    ["the GenAI conventions", genAi({ "gen_ai.tool.name": "search" }), "search"],
    ["the GenAI conventions without a name", genAi({}), undefined],
    ["OpenInference", inference(false), "search"],
    ["the Vercel AI SDK", aiSdk({}), "search"],
  ])("names the tool, as the model knows it: %s", (_, record, tool) => {
    expect(read(record).events?.map((event) => "tool" in event && event.tool)).toEqual([tool]);
  });

  const without = (record: ToolRecord, ...names: string[]): ToolRecord => ({
    ...record,
    attributes: Object.fromEntries(
      Object.entries(record.attributes).filter(([name]) => !names.includes(name)),
    ),
  });
  const ended = claude("tool_result", { success: "true" });
  it.each<[string, ToolRecord]>([
    [
      "Claude Code for a call that was allowed",
      claude("tool_decision", { decision: "accept", source: "config" }),
    ],
    ["Claude Code without the request", without(ended, "request_id")],
    ["Claude Code without the call", without(ended, "tool_use_id")],
    ["Claude Code without a session", without(ended, "session.id")],
    ["Claude Code without a result", claude("tool_result", {})],
    ["Claude Code with a result that is neither", claude("tool_result", { success: 1 })],
    ["Codex for a call that was allowed", codex("tool_decision", { decision: "approved", source: "user" })],
    [
      "Codex for a refused call without an id",
      without(codex("tool_decision", { decision: "denied", source: "user" }), "call_id"),
    ],
    ["Codex without a result", codex("tool_result", {})],
    ["Codex without a thread", without(codex("tool_result", { success: "true" }), "conversation.id")],
    ["Gemini CLI beside the conversation", gemini({ success: true, prompt_id: "title-1" })],
    ["Gemini CLI without a result", gemini({})],
    ["Qwen Code beside the conversation", qwen({ success: true, prompt_id: "title" })],
    ["Qwen Code of a call that runs", qwen({ status: "executing" })],
    ["a span without a conversation", without(genAi({}), "gen_ai.conversation.id")],
    ["a span of the Vercel AI SDK without a session", without(aiSdk({}), "ai.telemetry.metadata.sessionId")],
    ["opencode", aiSdk({ "ai.telemetry.functionId": "session.llm" })],
  ])("is not read from %s", (_, record) => {
    expect(read(record)).toEqual({ reason: "not_needed" });
  });

  it("and the start of a sub-agent may be one record of Codex", () => {
    const spawned = {
      tool_name: "spawn_agent",
      tool_namespace: "multi_agent_v1",
      output: '{"agent_id":"t2"}',
    };
    expect(read(codex("tool_result", { ...spawned, success: "true" })).events).toMatchObject([
      { type: "session", own_session: "t2" },
      { type: "tool_result", session: "s", agent: undefined },
    ]);
  });

  it("of Codex without an id has its time for an id", () => {
    const at = (second: number) =>
      without(
        codex("tool_result", { success: "true", "event.timestamp": `2026-11-20T10:00:0${second}Z` }),
        "call_id",
      );
    const idOf = (record: ToolRecord) => read(record).events![0]!.id;
    expect(idOf(at(1))).toBe(idOf(at(1)));
    expect(idOf(at(1))).not.toBe(idOf(at(2)));
  });
});
