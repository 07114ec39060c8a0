import { CLAUDE_CODE_TELEMETRY } from "@plimsoll/fold";
import type { PlimsollEventInput } from "@plimsoll/protocol/events";
import type { CallResult } from "@plimsoll/protocol/pure";
import { numberOf, textOf, tokensOf, truthOf } from "../telemetry/attributes.ts";
import { type EventOwner, eventEnvelope, harnessName } from "../telemetry/event-envelope.ts";
import { comesFrom } from "../telemetry/libraries/gen-ai.ts";
import { type ModelCallNames, modelCall } from "../telemetry/model-call.ts";
import {
  type NoEventReason,
  noEvent,
  type RecordReading,
  type TelemetryDialect,
} from "../telemetry/reading.ts";
import { refusalIn, reportedRefusal } from "../telemetry/refusal.ts";
import type { Attributes, LogRecord, SpanRecord, TelemetryRecord } from "../telemetry/telemetry-record.ts";
import { toolResult } from "../telemetry/tool-result.ts";

const FAMILY = "claude-code";

const CALL: ModelCallNames = {
  model: ["model", "gen_ai.request.model"],
  usage: CLAUDE_CODE_TELEMETRY,
  window: ["gen_ai.context.window_size"],
  costUsd: ["cost_usd"],
  stop: ["stop_reason"],
};

/**
 * Claude Code: log events `api_request`, `compaction`, `tool_result` and `tool_decision`, spans `claude_code.llm_request`. A call in
 * both has one request id and is one turn. Names: code.claude.com/docs/en/monitoring-usage, August 2026; ids of tool calls seen from
 * 2.1.329.
 */
export const claudeCodeTelemetry: TelemetryDialect = {
  name: FAMILY,
  speaks: (record) =>
    comesFrom(record, /^(com\.anthropic\.)?claude[-_]code/) || /^claude_code\./.test(record.name),
  read(record) {
    const kind = kindOf(record);
    if (kind === "other") return noEvent("not_needed");
    if (kind === "tool") return readTool(record);
    const session = textOf(record.attributes, ["session.id"]);
    if (session === undefined) return noEvent("no_session");
    const owner = ownerOf(record, { harness: harnessName(record.resource, FAMILY), session });
    if (typeof owner === "string") return noEvent(owner);
    if (kind === "error") return readError(record, owner);
    return kind === "compaction" ? readCompaction(record, owner) : readCall(record, owner);
  },
};

function kindOf(record: LogRecord | SpanRecord): "call" | "compaction" | "error" | "tool" | "other" {
  switch (record.name.replace(/^claude_code\./, "")) {
    case "api_request":
      return record.signal === "logs" ? "call" : "other";
    case "llm_request":
      return record.signal === "traces" ? "call" : "other";
    case "compaction":
      return record.signal === "logs" ? "compaction" : "other";
    case "tool_result":
    case "tool_decision":
      return record.signal === "logs" ? "tool" : "other";
    case "api_error":
      return refusalIn(textOf(record.attributes, ["error"])) === undefined ? "other" : "error";
    default:
      return "other";
  }
}

/** What asked for the call. Spans of 2.1.331 have it under another name, with dots for colons. */
const SOURCE = ["query_source", "query_source_safe"];
const MAIN = /^(repl_main_thread|sdk)\b/;
const SUB_AGENT = /^(sub)?agent\b/;

/** Whose call it is. Older logs name only the type of a sub-agent, and two of one type may run at once; spans have its id. */
function ownerOf({ attributes }: TelemetryRecord, main: EventOwner): EventOwner | NoEventReason {
  const agent = textOf(attributes, ["agent_id"]);
  if (agent !== undefined) {
    return subAgent(main, agent, textOf(attributes, ["parent_agent_id"]));
  }
  const source = textOf(attributes, SOURCE);
  if (source === undefined || source === "compact" || MAIN.test(source)) return main;
  return attributes.has("agent.name") || SUB_AGENT.test(source) ? "no_agent" : "auxiliary";
}

const subAgent = (main: EventOwner, agent: string, parent: string | undefined): EventOwner => ({
  ...main,
  agent: `agent-${agent}`,
  parent: parent === undefined ? "main" : `agent-${parent}`,
});

function readCall(record: LogRecord | SpanRecord, owner: EventOwner): RecordReading {
  const { attributes } = record;
  const isSpan = record.signal === "traces";
  const at = isSpan ? record.endAt : record.at;
  // A program that uses the SDK asks nobody, unless it answers by itself.
  const asksPerson = !textOf(attributes, SOURCE)?.startsWith("sdk");
  const turn = modelCall(
    attributes,
    { ...CALL, asksPerson },
    {
      owner,
      id:
        textOf(attributes, ["request_id", "gen_ai.response.id", "client_request_id"]) ??
        measuredId(attributes) ??
        positionOf(record),
      at,
      durationMs: numberOf(attributes, ["duration_ms"]),
      purpose: textOf(attributes, SOURCE) === "compact" ? "compaction" : undefined,
    },
  );
  if (turn !== undefined) return { events: [turn] };
  return noEvent(truthOf(attributes, "success") === false ? "not_needed" : "no_usage");
}

const MEASURED = ["ttft_ms", "input_tokens", "cache_read_tokens", "cache_creation_tokens", "output_tokens"];

/** Log and span of one call share its counts and its time to the first token. Behind a gateway, they may have no id. */
function measuredId(attributes: Attributes): string | undefined {
  const values = MEASURED.map((name) => numberOf(attributes, [name]));
  return values.includes(undefined) ? undefined : `call/${values.join("/")}`;
}

/** A refused prompt names the size of the window. */
function readError(record: LogRecord | SpanRecord, owner: EventOwner): RecordReading {
  const { attributes } = record;
  const refusal = refusalIn(textOf(attributes, ["error"]));
  const model = textOf(attributes, CALL.model);
  if (refusal === undefined || model === undefined) return noEvent("not_needed");
  const at = record.signal === "traces" ? record.endAt : record.at;
  return { events: [reportedRefusal(owner, `refused/${positionOf(record)}`, at, model, refusal)] };
}

/**
 * `post_tokens` leaves out the system prompt and the tools, so the next call gives the new level. So does `pre_tokens` of `/compact`,
 * where the call before gives the old one.
 */
function readCompaction(record: LogRecord | SpanRecord, owner: EventOwner): RecordReading {
  const { attributes } = record;
  if (truthOf(attributes, "success") === false) return noEvent("not_needed");
  const at = record.signal === "traces" ? record.endAt : record.at;
  const trigger = textOf(attributes, ["trigger"]) === "manual" ? "manual" : "auto";
  const event: PlimsollEventInput = {
    ...eventEnvelope(owner, `compaction/${positionOf(record)}`, at),
    type: "compacted",
    trigger,
    ...(trigger === "auto" && { tokens_before: tokensOf(attributes, ["pre_tokens"]) }),
  };
  return { events: [event] };
}

/**
 * The end of a tool call. Versions that do not name the request that asked for it do not name the sub-agent either, so theirs are left
 * out.
 */
function readTool({ attributes, resource, name, ...record }: LogRecord | SpanRecord): RecordReading {
  const text = (attribute: string) => textOf(attributes, [attribute]);
  const [session, call, turn] = [text("session.id"), text("tool_use_id"), text("request_id")];
  const result = name.endsWith("tool_result") ? resultOfSuccess(attributes) : resultOfDecision(attributes);
  if (session === undefined || call === undefined || turn === undefined || result === undefined)
    return noEvent("not_needed");
  const agent = text("agent_id");
  const main = { harness: harnessName(resource, FAMILY), session };
  const owner = agent === undefined ? main : subAgent(main, agent, text("parent_agent_id"));
  const at = record.signal === "traces" ? record.endAt : record.at;
  return { events: [toolResult({ owner, call, at, result, tool: toolOf(attributes), turn })] };
}

/** Without details, all tools of MCP servers have one name. With them, a recording has the same name. */
function toolOf(attributes: Attributes): string | undefined {
  const text = (attribute: string) => textOf(attributes, [attribute]);
  const name = text("tool_name");
  if (name !== "mcp_tool") return name;
  const [server, tool] = [text("mcp_server_name"), text("mcp_tool_name")];
  return server === undefined || tool === undefined ? undefined : `mcp__${server}__${tool}`;
}

function resultOfSuccess(attributes: Attributes): CallResult | undefined {
  const success = truthOf(attributes, "success");
  return success === undefined ? undefined : success ? "ok" : "failed";
}

/** A rule or a hook that forbids a call makes it fail. What is allowed still has its result to come. */
function resultOfDecision(attributes: Attributes): CallResult | undefined {
  if (attributes.get("decision") !== "reject") return undefined;
  return textOf(attributes, ["source"])?.startsWith("user") === true ? "rejected" : "failed";
}

/** Identifies a record within its session. A resumed session counts its events from the start again. */
function positionOf(record: LogRecord | SpanRecord): string {
  if (record.signal === "traces") return `span/${record.spanId}`;
  return `event/${record.at}/${textOf(record.attributes, ["event.sequence"]) ?? ""}`;
}
