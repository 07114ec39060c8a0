import type { PlimsollEventInput } from "@plimsoll/protocol/events";
import type { Witness } from "@plimsoll/protocol/pure";
import { textOf } from "../attributes.ts";
import { type EventOwner, harnessName, serviceFamily } from "../event-envelope.ts";
import { type ModelCallNames, modelCall } from "../model-call.ts";
import { noEvent, type RecordReading, type TelemetryDialect } from "../reading.ts";
import { readRefusal, refusedPrompt } from "../refusal.ts";
import type { Attributes, SpanRecord, TelemetryRecord } from "../telemetry-record.ts";

/**
 * The GenAI semantic conventions of OpenTelemetry: up to 1.36 (`prompt_tokens`), 1.37 to 1.41 (`cache_creation`), and those of
 * semantic-conventions-genai (`cache_write`). Also what libraries that follow them add in their own words.
 */
export const GEN_AI_CALL: ModelCallNames = {
  model: ["gen_ai.response.model", "gen_ai.request.model"],
  input: ["gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens"],
  cacheRead: [
    "gen_ai.usage.cache_read.input_tokens",
    "gen_ai.usage.cache_read_input_tokens",
    "gen_ai.usage.details.cache_read_tokens",
    "gen_ai.usage.prompt_tokens_details.cached_tokens",
    "gen_ai.usage.cached_tokens",
  ],
  cacheWrite: [
    "gen_ai.usage.cache_write.input_tokens",
    "gen_ai.usage.cache_creation.input_tokens",
    "gen_ai.usage.cache_write_input_tokens",
    "gen_ai.usage.cache_creation_input_tokens",
    "gen_ai.usage.details.cache_write_tokens",
  ],
  output: ["gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens"],
  reasoning: [
    "gen_ai.usage.reasoning.output_tokens",
    "gen_ai.usage.reasoning_tokens",
    "gen_ai.usage.details.reasoning_tokens",
    "gen_ai.usage.completion_tokens_details.reasoning_tokens",
  ],
  window: ["gen_ai.context.window_size", "gen_ai.request.context_window"],
  costUsd: ["gen_ai.usage.cost", "operation.cost"],
};

/** Operations that are one model call. A span without an operation is one if it names a model. */
const INFERENCE = new Set(["chat", "generate_content", "text_completion", "fetch_response"]);
/** Operations that call no model, and those whose usage is a sum over the calls below them. */
const WITHOUT_CALL = new Set(["execute_tool", "embeddings", "retrieval", "create_agent", "plan"]);

/** What the SDK of OpenLLMetry adds to all spans of a program, also to those of other libraries. */
const TRACELOOP = ["session_id", "conversation_id", "thread_id", "chat_id"].map(
  (name) => `traceloop.association.properties.${name}`,
);
/** The conversation of a call, in any library. */
export const SESSION = ["gen_ai.conversation.id", "session.id", ...TRACELOOP];
const AGENT = ["gen_ai.agent.name", "gen_ai.agent.id"];

/** Anything that follows the GenAI conventions and is no dialect of its own. Asked last. */
export const genAi: TelemetryDialect = {
  name: "gen-ai",
  speaks: ({ attributes, signal }) => signal !== "metrics" && speaksGenAi(attributes),
  read(record) {
    if (record.signal !== "traces") return noEvent("reported_elsewhere");
    return readGenAiSpan(record, {
      family: serviceFamily(record.resource, "opentelemetry"),
      agent: textOf(record.attributes, AGENT),
    });
  },
};

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

/** What a dialect that follows the GenAI conventions decides by itself. */
export interface GenAiSpanOptions extends Pick<EventOwner, "agent" | "parent" | "ownSession"> {
  family: string;
  witness?: Witness;
  session?: string | undefined;
  names?: ModelCallNames;
}

/** Reads a span of the GenAI conventions: a model call, or the reason why it is none. */
export function readGenAiSpan(
  span: SpanRecord,
  { family, session, agent, parent, ownSession, witness, names = GEN_AI_CALL }: GenAiSpanOptions,
): RecordReading {
  const reason = otherThanCall(span.attributes);
  if (reason !== undefined) return noEvent(reason);
  const owner = session ?? textOf(span.attributes, SESSION) ?? span.traceId;
  if (owner === "") return noEvent("no_session");
  const eventOwner = {
    harness: harnessName(span.resource, family),
    session: owner,
    agent,
    parent,
    ownSession,
  };
  const refused = span.failed ? refusalOf(span, eventOwner, names) : undefined;
  if (refused !== undefined) return { events: [refused] };
  const turn = modelCall(span.attributes, names, {
    owner: eventOwner,
    id: callId(span),
    at: span.endAt,
    durationMs: spanDuration(span),
    witness,
  });
  return turn === undefined ? noEvent(withoutUsage(span)) : { events: [turn] };
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
    const refusal = readRefusal(textOf(attributes, ["exception.message"]) ?? "");
    if (refusal !== undefined)
      return refusedPrompt(owner, `refused/${span.spanId}`, span.endAt, model, refusal);
  }
  return undefined;
}

function otherThanCall(attributes: Attributes): "not_needed" | "aggregate" | undefined {
  const operation = textOf(attributes, ["gen_ai.operation.name"]);
  if (operation !== undefined) {
    if (INFERENCE.has(operation)) return undefined;
    return WITHOUT_CALL.has(operation) || operation.endsWith("_memory") ? "not_needed" : "aggregate";
  }
  return textOf(attributes, GEN_AI_CALL.model) === undefined ? "aggregate" : undefined;
}

/** Ollama numbers its answers from 1 to 999, so that a short id repeats within a session. */
const SHORT_ID = /^chatcmpl-\d{1,6}$/;

/** The provider's id of the answer, so that two reports of a call are one turn; else the span's. */
export function callId({ attributes, spanId }: SpanRecord): string {
  const response = textOf(attributes, ["gen_ai.response.id"]);
  return response === undefined || SHORT_ID.test(response) ? `span/${spanId}` : response;
}

/** Why a call without counts is no turn. A call that failed has none, which nobody can change. */
export const withoutUsage = ({ failed }: SpanRecord) => (failed ? "not_needed" : "no_usage");

export const spanDuration = ({ startAt, endAt }: SpanRecord): number | undefined =>
  startAt > 0 && endAt >= startAt ? endAt - startAt : undefined;

/** Whether a record comes from one of these services or scopes. */
export function comesFrom(record: TelemetryRecord, service: RegExp): boolean {
  const name = record.resource.get("service.name");
  return (typeof name === "string" && service.test(name)) || service.test(record.scope);
}
