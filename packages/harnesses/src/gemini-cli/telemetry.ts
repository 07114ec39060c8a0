import { GEMINI_CLI_TELEMETRY } from "@plimsoll/fold";
import type { PlimsollEventInput } from "@plimsoll/protocol/events";
import { numberOf, textOf, tokensOf, truthOf } from "../telemetry/attributes.ts";
import { type EventOwner, eventEnvelope, harnessName } from "../telemetry/event-envelope.ts";
import { comesFrom } from "../telemetry/libraries/gen-ai.ts";
import { type ModelCallNames, modelCall } from "../telemetry/model-call.ts";
import { noEvent, type RecordReading, type TelemetryDialect } from "../telemetry/reading.ts";
import type { Attributes, LogRecord } from "../telemetry/telemetry-record.ts";
import { toolResult } from "../telemetry/tool-result.ts";

const FAMILY = "gemini-cli";

const CALL: ModelCallNames = {
  model: ["model"],
  usage: GEMINI_CLI_TELEMETRY,
  window: ["gen_ai.context.window_size"],
  costUsd: [],
  stop: ["finish_reasons"],
};

/**
 * Gemini CLI: log events `api_response`, `tool_call`, `chat_compression` and `tool_output_masking`. Its spans and `gen_ai` events
 * repeat the calls. Names: google-gemini/gemini-cli docs/cli/telemetry.md at 04bcbc6, 2026.
 */
export const geminiCliTelemetry: TelemetryDialect = {
  name: FAMILY,
  speaks: (record) => comesFrom(record, /^gemini-cli\b/) || /^gemini_cli\./.test(record.name),
  read(record) {
    if (record.signal === "traces" || record.name.startsWith("gen_ai.")) return noEvent("reported_elsewhere");
    const readEvent = EVENTS[record.name];
    if (readEvent === undefined) return noEvent("not_needed");
    const session = textOf(record.attributes, ["session.id", "gen_ai.conversation.id"]);
    if (session === undefined) return noEvent("no_session");
    return readEvent(record, { harness: harnessName(record.resource, FAMILY), session });
  },
};

const EVENTS: Readonly<Record<string, (record: LogRecord, main: EventOwner) => RecordReading>> = {
  "gemini_cli.api_response": readResponse,
  "gemini_cli.tool_call": readTool,
  "gemini_cli.chat_compression": readCompression,
  "gemini_cli.tool_output_masking": readMasking,
};

type CallKind = "conversation" | "compaction" | "auxiliary";

/** A turn of the conversation has the prompt id `<session>########<turn>`, one of a sub-agent `<agent>#<turn>`. */
function callerOf(attributes: Attributes): { kind: CallKind; agent: string | undefined } {
  const role = textOf(attributes, ["role"]);
  const prompt = textOf(attributes, ["prompt_id"]) ?? "";
  const agent = /^([^#]+)#\d+(?:-verify)?$/.exec(prompt)?.[1];
  if (role === "utility_compressor") return { kind: "compaction", agent };
  if (agent !== undefined && (role === undefined || role === "subagent"))
    return { kind: "conversation", agent };
  const isMain = role === undefined ? prompt === "" || prompt.includes("########") : role === "main";
  return { kind: isMain ? "conversation" : "auxiliary", agent: undefined };
}

function readResponse({ attributes, at }: LogRecord, main: EventOwner): RecordReading {
  const { kind, agent } = callerOf(attributes);
  if (kind === "auxiliary") return noEvent("auxiliary");
  const owner = ownerOf(main, agent);
  const turn = modelCall(attributes, CALL, {
    owner,
    id: `${textOf(attributes, ["prompt_id"]) ?? "response"}/${at}`,
    at,
    durationMs: numberOf(attributes, ["duration_ms"]),
    purpose: kind === "compaction" ? "compaction" : undefined,
  });
  return turn === undefined ? noEvent("no_usage") : { events: [turn] };
}

/** Recordings have the same name for a sub-agent. */
const ownerOf = (main: EventOwner, agent: string | undefined): EventOwner =>
  agent === undefined ? main : { ...main, agent: `agent-${agent}`, parent: "main" };

/** The end of a tool call. The record has no id of the call, nor of the answer that asked for it. */
function readTool({ attributes, at }: LogRecord, main: EventOwner): RecordReading {
  const { kind, agent } = callerOf(attributes);
  const success = truthOf(attributes, "success");
  if (kind !== "conversation" || success === undefined) return noEvent("not_needed");
  const isRejected = !success && attributes.get("decision") === "reject";
  const call = ["prompt_id", "function_name", "start_time", "duration_ms"].map(
    (name) => textOf(attributes, [name]) ?? "-",
  );
  const event = toolResult({
    owner: ownerOf(main, agent),
    call: [...call, at].join("/"),
    at,
    result: success ? "ok" : isRejected ? "rejected" : "failed",
    tool: textOf(attributes, ["function_name"]),
  });
  return { events: [event] };
}

/** `tokens_after` leaves out the system prompt and the tools. The calls before and after it have the levels. */
function readCompression({ attributes, at }: LogRecord, main: EventOwner): RecordReading {
  const before = tokensOf(attributes, ["tokens_before"]);
  const after = tokensOf(attributes, ["tokens_after"]);
  // Gemini CLI also reports a summary that it rejected because it was no smaller.
  if (before !== undefined && after !== undefined && after >= before) return noEvent("not_needed");
  const event: PlimsollEventInput = {
    ...eventEnvelope(main, `compression/${at}`, at),
    type: "compacted",
    trigger: "auto",
    tokens_before: undefined,
    tokens_after: undefined,
  };
  return { events: [event] };
}

/** Its counts are those of the tool outputs, not the level. */
function readMasking({ attributes, at }: LogRecord, main: EventOwner): RecordReading {
  const observations = tokensOf(attributes, ["masked_count"]) ?? 0;
  if (observations === 0) return noEvent("not_needed");
  const event: PlimsollEventInput = {
    ...eventEnvelope(main, `masking/${at}`, at),
    type: "masked",
    observations,
    tokens_before: undefined,
    tokens_after: undefined,
  };
  return { events: [event] };
}
