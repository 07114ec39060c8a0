import { type CountedUsage, GEN_AI, GEN_AI_BEDROCK } from "@plimsoll/fold";
import type { PlimsollEventInput } from "@plimsoll/protocol/events";
import type { Witness } from "@plimsoll/protocol/pure";
import { textOf } from "../attributes.ts";
import { type EventOwner, harnessName, serviceFamily } from "../event-envelope.ts";
import { type ModelCallNames, modelCall } from "../model-call.ts";
import { noEvent, type RecordReading, type TelemetryDialect } from "../reading.ts";
import { refusalIn, reportedRefusal } from "../refusal.ts";
import type { Attributes, LogRecord, SpanRecord, TelemetryRecord } from "../telemetry-record.ts";
import { toolResult } from "../tool-result.ts";

/** The GenAI semantic conventions of OpenTelemetry, and what libraries that follow them add in their own words. */
export const GEN_AI_CALL: ModelCallNames = {
  model: ["gen_ai.response.model", "gen_ai.request.model", "llm.response.model", "llm.request.model"],
  usage: GEN_AI,
  window: ["gen_ai.context.window_size", "gen_ai.request.context_window"],
  costUsd: ["gen_ai.usage.cost", "operation.cost"],
  stop: [
    "gen_ai.response.finish_reasons",
    "gen_ai.response.finish_reason",
    "gen_ai.completion.0.finish_reason",
    "llm.response.finish_reason",
  ],
};
const BEDROCK_CALL: ModelCallNames = { ...GEN_AI_CALL, usage: GEN_AI_BEDROCK };

/**
 * Operations that are one model call. A span without an operation is one if it names a model. LiteLLM writes the name of its function,
 * with an `a` for asynchronous ones (BerriAI/litellm litellm/integrations/opentelemetry.py, `call_type`).
 */
const INFERENCE =
  /^(?:fetch_response|a?(?:chat|completion|text_completion|responses|anthropic_messages|generate_content(?:_stream)?))$/;

export const isInference = (operation: string): boolean => INFERENCE.test(operation);
/** Operations that call no model, and those whose usage is a sum over the calls below them. */
const WITHOUT_CALL = new Set(["execute_tool", "embeddings", "retrieval", "create_agent", "plan"]);

/** What the SDK of OpenLLMetry adds to all spans of a program, also to those of other libraries. */
const TRACELOOP = ["session_id", "conversation_id", "thread_id", "chat_id"].map(
  (name) => `traceloop.association.properties.${name}`,
);
/** The conversation of a call, in any library. Mastra and LangSmith's exporter pass on what a program says in its metadata. */
export const SESSION = [
  ...["gen_ai.conversation.id", "session.id", "mastra.metadata.threadId", "mastra.metadata.sessionId"],
  ...["session_id", "thread_id", "conversation_id"].map((name) => `langsmith.metadata.${name}`),
  ...TRACELOOP,
];
const PROVIDER = ["gen_ai.provider.name", "gen_ai.system"];
const AGENT = ["gen_ai.agent.name", "gen_ai.agent.id"];

/** Anything that follows the GenAI conventions and is no dialect of its own. Asked last. */
export const genAi: TelemetryDialect = {
  name: "gen-ai",
  speaks: ({ attributes, signal }) => signal !== "metrics" && speaksGenAi(attributes),
  read(found) {
    const record = callRecord(found);
    if (record === undefined) return noEvent("reported_elsewhere");
    const { attributes } = record;
    const sender = {
      family: serviceFamily(record.resource, "opentelemetry"),
      agent: textOf(attributes, AGENT),
      witness: INSTRUMENTATION.test(record.scope) ? ("instrumentation" as const) : ("otlp" as const),
    };
    if (attributes.get("gen_ai.operation.name") === "execute_tool")
      return readToolSpan(record, { ...sender, session: textOf(attributes, SESSION) });
    return readGenAiSpan(record, sender);
  },
};

/** The event that has the messages of a call which its span leaves out. */
const DETAILS = "gen_ai.client.inference.operation.details";

/** A span, or the event with the details of one call: what it says is part of the span in whose context it was written. */
export function callRecord(record: SpanRecord | LogRecord): SpanRecord | undefined {
  if (record.signal === "traces") return record;
  const { name, at, spanId, attributes } = record;
  if (name !== DETAILS || spanId === "") return undefined;
  const failed = attributes.has("error.type");
  return { ...record, signal: "traces", parentSpanId: "", startAt: 0, endAt: at, failed, events: [] };
}

/** Packages of OpenTelemetry that watch an SDK from outside. The SDK, or a framework on it, may have spans of its own for its calls. */
const INSTRUMENTATION = /\binstrumentation\b/;

const MARKS = [
  "gen_ai.operation.name",
  "gen_ai.system",
  "gen_ai.provider.name",
  "gen_ai.request.model",
  "gen_ai.usage.input_tokens",
];

export function speaksGenAi(attributes: Attributes): boolean {
  return MARKS.some((name) => attributes.has(name));
}

interface CallSpanOptions extends Pick<EventOwner, "agent" | "parent" | "ownSession"> {
  family: string;
  witness?: Witness;
  session?: string | undefined;
  names: ModelCallNames;
  counted?: CountedUsage | undefined;
}

/** What a dialect that follows the GenAI conventions decides by itself. */
export type GenAiSpanOptions = Omit<CallSpanOptions, "names"> & { names?: ModelCallNames };

/** Reads a span of the GenAI conventions: a model call, or the reason why it is none. */
export function readGenAiSpan(
  span: SpanRecord,
  { family, session, agent, parent, ownSession, witness, names = namesOf(span), counted }: GenAiSpanOptions,
): RecordReading {
  const reason = otherThanCall(span.attributes);
  if (reason !== undefined) return noEvent(reason);
  const owner = session ?? textOf(span.attributes, SESSION);
  return readCallSpan(span, { family, session: owner, agent, parent, ownSession, witness, names, counted });
}

/** Reads a span of one model call. Without a session, its trace is one. */
export function readCallSpan(
  span: SpanRecord,
  { family, session = span.traceId, agent, parent, ownSession, witness, names, counted }: CallSpanOptions,
): RecordReading {
  if (session === "") return noEvent("no_session");
  const owner = { harness: harnessName(span.resource, family), session, agent, parent, ownSession };
  const refused = span.failed ? refusalOf(span, owner, names) : undefined;
  if (refused !== undefined) return { events: [refused] };
  const turn = modelCall(span.attributes, names, {
    owner,
    id: callId(span),
    at: span.endAt,
    durationMs: spanDuration(span),
    witness,
    counted,
  });
  // A call that failed has no counts, which nobody can change.
  return turn === undefined ? noEvent(span.failed ? "not_needed" : "no_usage") : { events: [turn] };
}

const TOOL_CALL = ["gen_ai.tool.call.id", "ai.toolCall.id", "tool_call.id"];

/** Of the conventions, the Vercel AI SDK, OpenInference and OpenLLMetry. */
const TOOL_NAME = ["gen_ai.tool.name", "ai.toolCall.name", "tool.name", "traceloop.entity.name"];

/** Some servers number the calls of each answer, so that a short id repeats within a session. */
const UNIQUE_CALL = /^(?!.*[_-]\d{1,4}$)[\w-]{16,}$/;

/**
 * Reads a span around a tool. Without a session it is left out: the calls of the model may have one, which only they name. Spans do not
 * say which answer asked for the tool.
 */
export function readToolSpan(
  { resource, attributes, spanId, endAt, failed }: SpanRecord,
  { family, session, agent, witness }: Pick<CallSpanOptions, "family" | "session" | "agent" | "witness">,
): RecordReading {
  if (session === undefined) return noEvent("not_needed");
  const call = textOf(attributes, TOOL_CALL);
  const event = toolResult({
    owner: { harness: harnessName(resource, family), session, agent },
    call: call !== undefined && UNIQUE_CALL.test(call) ? call : `span/${spanId}`,
    at: endAt,
    result: failed || attributes.has("error.type") ? "failed" : "ok",
    tool: textOf(attributes, TOOL_NAME),
    ...(witness && { witness }),
  });
  return { events: [event] };
}

/** OpenLLMetry's instrumentation of Bedrock, also by its provider if a collector dropped the scope. */
function namesOf({ scope, attributes }: SpanRecord): ModelCallNames {
  const isBedrock =
    scope === ""
      ? attributes.has("llm.request.type") && /bedrock|aws/i.test(textOf(attributes, PROVIDER) ?? "")
      : scope.startsWith("opentelemetry.instrumentation.bedrock");
  return isBedrock ? BEDROCK_CALL : GEN_AI_CALL;
}

/** A failed call whose exception names the size of the window. */
function refusalOf(
  span: SpanRecord,
  owner: EventOwner,
  names: ModelCallNames,
): PlimsollEventInput | undefined {
  const model = textOf(span.attributes, ["gen_ai.request.model", ...names.model]);
  if (model === undefined) return undefined;
  for (const { attributes } of span.events) {
    const refusal = refusalIn(textOf(attributes, ["exception.message"]));
    if (refusal !== undefined)
      return reportedRefusal(owner, `refused/${span.spanId}`, span.endAt, model, refusal);
  }
  return undefined;
}

function otherThanCall(attributes: Attributes): "not_needed" | "aggregate" | undefined {
  const operation = textOf(attributes, ["gen_ai.operation.name"]);
  if (operation !== undefined) {
    if (isInference(operation)) return undefined;
    return WITHOUT_CALL.has(operation) || operation.endsWith("_memory") ? "not_needed" : "aggregate";
  }
  return textOf(attributes, GEN_AI_CALL.model) === undefined ? "aggregate" : undefined;
}

/** Ollama numbers its answers from 1 to 999, so that a short id repeats within a session. */
const SHORT_ID = /^chatcmpl-\d{1,6}$/;

/** The provider's id of the answer, so that two reports of a call are one turn; else the span's. */
function callId({ attributes, spanId }: SpanRecord): string {
  const response = textOf(attributes, ["gen_ai.response.id"]);
  return response === undefined || SHORT_ID.test(response) ? `span/${spanId}` : response;
}

const spanDuration = ({ startAt, endAt }: SpanRecord): number | undefined =>
  startAt > 0 && endAt >= startAt ? endAt - startAt : undefined;

/** Whether a record comes from one of these services or scopes. */
export function comesFrom(record: TelemetryRecord, service: RegExp): boolean {
  const name = record.resource.get("service.name");
  return (typeof name === "string" && service.test(name)) || service.test(record.scope);
}
