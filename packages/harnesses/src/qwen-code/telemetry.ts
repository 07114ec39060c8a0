import { QWEN_SUMMARY } from "@plimsoll/fold";
import { type Composition, LARGEST } from "@plimsoll/protocol/events";
import { resultOfStatus } from "../recordings/call-outcomes.ts";
import { textOf, tokensOf, truthOf } from "../telemetry/attributes.ts";
import { eventEnvelope, harnessName } from "../telemetry/event-envelope.ts";
import { comesFrom, readGenAiSpan } from "../telemetry/libraries/gen-ai.ts";
import { type ModelCallNames, modelCall } from "../telemetry/model-call.ts";
import { noEvent, type RecordReading, type TelemetryDialect } from "../telemetry/reading.ts";
import type { Attributes, LogRecord } from "../telemetry/telemetry-record.ts";
import { toolResult } from "../telemetry/tool-result.ts";

const FAMILY = "qwen-code";
const USAGE = "qwen-code.context.usage";

/**
 * Qwen Code: spans `qwen-code.llm_request`, of which `qwen-code.context.usage` gives window and composition, and the log events
 * `chat_compression` and `tool_call`. Names: QwenLM/qwen-code docs/design/otel-context-usage-attribute.md and session-tracing.ts, 2026.
 */
export const qwenCodeTelemetry: TelemetryDialect = {
  name: FAMILY,
  speaks: (record) => comesFrom(record, /^qwen-code\b/) || /^qwen-code\./.test(record.name),
  read(record) {
    if (record.signal === "logs") return readLog(record);
    if (record.name !== "qwen-code.llm_request") return noEvent("not_needed");
    const { attributes } = record;
    if (isInternal(attributes)) return noEvent("auxiliary");
    const agent = agentOf(attributes);
    if (agent === undefined && attributes.get("llm_request.context") === "subagent")
      return noEvent("no_agent");
    const session = textOf(attributes, ["session.id", "gen_ai.conversation.id"]);
    const sender = { agent, ...(agent !== undefined && { parent: "main" }) };
    const reading = readGenAiSpan(record, { family: FAMILY, session, ...sender });
    const [turn] = reading.events ?? [];
    if (turn?.type !== "turn") return reading;
    return { events: [{ ...turn, ...contextUsage(attributes) }] };
  },
};

const promptOf = (attributes: Attributes) => textOf(attributes, ["qwen-code.prompt_id", "prompt_id"]);

/** The id of a sub-agent's prompt: `<session>#<agent>#<turn>`. */
const SUBAGENT_PROMPT = /^[^#]+#([^#]+)#\d+$/;

/** The name that recordings give a sub-agent. */
function agentOf(attributes: Attributes): string | undefined {
  const id = SUBAGENT_PROMPT.exec(promptOf(attributes) ?? "")?.[1];
  return id === undefined ? textOf(attributes, ["subagent_name"]) : `agent-${id}`;
}

/**
 * A prompt of a person has the id `<session>########<turn>`. Requests of a conversation have context usage. So has one that
 * writes a summary: only the log of the compression tells it apart.
 */
function isInternal(attributes: Attributes): boolean {
  if (attributes.has(USAGE) || attributes.get("llm_request.context") === "subagent") return false;
  const prompt = promptOf(attributes);
  return prompt !== undefined && !prompt.includes("########") && !SUBAGENT_PROMPT.test(prompt);
}

function readLog({ name, attributes, resource, at }: LogRecord): RecordReading {
  if (name === "qwen-code.api_response") return noEvent("reported_elsewhere");
  if (name === "qwen-code.tool_call") return readTool({ attributes, resource, at });
  if (name !== "qwen-code.chat_compression") return noEvent("not_needed");
  const session = textOf(attributes, ["session.id"]);
  if (session === undefined) return noEvent("no_session");
  const owner = { harness: harnessName(resource, FAMILY), session };
  const summary = modelCall(attributes, SUMMARY, {
    owner,
    id: `compression/${at}/summary`,
    at,
    purpose: "compaction",
    witness: "hook",
  });
  const events = summary === undefined ? [] : [summary];
  const before = tokensOf(attributes, ["tokens_before"]);
  const after = tokensOf(attributes, ["tokens_after"]);
  const isRejected = before !== undefined && after !== undefined && after >= before;
  // The counts are estimates from the messages. The calls before and after it have the levels.
  if (!isRejected)
    events.push({
      ...eventEnvelope(owner, `compression/${at}`, at),
      type: "compacted",
      trigger: "auto",
      tokens_before: undefined,
      tokens_after: undefined,
    });
  return events.length === 0 ? noEvent("not_needed") : { events };
}

/** The end of a tool call. It names the answer that asked for it. Versions without a call id tell calls apart by their times. */
function readTool({
  attributes,
  resource,
  at,
}: Pick<LogRecord, "attributes" | "resource" | "at">): RecordReading {
  const text = (attribute: string) => textOf(attributes, [attribute]);
  const session = text("session.id");
  const success = truthOf(attributes, "success");
  const told =
    resultOfStatus(text("status")) ?? (success === undefined ? undefined : success ? "ok" : "failed");
  if (session === undefined || told === undefined || isInternal(attributes)) return noEvent("not_needed");
  const agent = agentOf(attributes);
  const names = ["prompt_id", "response_id", "function_name", "duration_ms"].map((name) => text(name) ?? "-");
  const event = toolResult({
    owner: {
      harness: harnessName(resource, FAMILY),
      session,
      agent,
      ...(agent !== undefined && { parent: "main" }),
    },
    call: text("call_id") ?? [...names, at].join("/"),
    at,
    result: told !== "ok" && attributes.get("decision") === "reject" ? "rejected" : told,
    tool: text("function_name"),
    turn: text("response_id"),
  });
  return { events: [event] };
}

/** The request that wrote the summary. Its span has the same counts, so both are one call. */
const SUMMARY: ModelCallNames = { model: ["model"], usage: QWEN_SUMMARY, window: [], costUsd: [] };

interface ContextUsage {
  context_window?: number;
  composition?: Composition;
  composition_estimated?: boolean;
}

/** Window and composition, of version 1. The parts are estimates, the window is what Qwen Code works with. */
function contextUsage(attributes: Attributes): ContextUsage {
  const usage = parsed(textOf(attributes, [USAGE]));
  if (usage?.version !== 1) return {};
  const window = tokens(usage.window_size_tokens);
  const parts = typeof usage.breakdown === "object" && usage.breakdown !== null ? usage.breakdown : {};
  const part = (name: string) => tokens((parts as Record<string, unknown>)[`${name}_tokens`]);
  return {
    ...(window && { context_window: window }),
    composition: {
      system: part("system_prompt"),
      tools: sum(part("builtin_tools"), part("mcp_tools")),
      memory: part("memory_files"),
      history: part("messages"),
      tool_output: undefined,
      other: part("skills"),
    },
    composition_estimated: true,
  };
}

function parsed(text: string | undefined): Record<string, unknown> | undefined {
  try {
    const value: unknown = text === undefined ? undefined : JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

function tokens(value: unknown): number | undefined {
  if (typeof value !== "number" || !(value >= 0 && value <= LARGEST.tokens)) return undefined;
  return Math.round(value);
}

function sum(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? (one ?? other) : one + other;
}
