import type { PlimsollEventInput } from "@plimsoll/protocol/events";
import { textOf, truthOf } from "../attributes.ts";
import { eventEnvelope, harnessName, serviceFamily } from "../event-envelope.ts";
import { noEvent, type RecordReading, type TelemetryDialect } from "../reading.ts";
import type { SpanRecord } from "../telemetry-record.ts";
import { readGenAiSpan } from "./gen-ai.ts";

const AGENT = ["gen_ai.agent.name", "agent_name"];

/**
 * Pydantic AI: GenAI conventions; the span of a run has sums (`gen_ai.aggregated_usage.*`, or `gen_ai.usage.*` on request). A
 * compaction has a span of its own. Names: pydantic/pydantic-ai models/instrumented.py, version 5, 2026.
 */
export const pydanticAi: TelemetryDialect = {
  name: "pydantic-ai",
  speaks: ({ scope, attributes }) => scope === "pydantic-ai" || attributes.has("pydantic_ai.all_messages"),
  read(record) {
    if (record.signal !== "traces") return noEvent("reported_elsewhere");
    const { attributes } = record;
    if (attributes.has("compaction.tokens_before")) return readCompaction(record);
    if (attributes.has("agent_name") && !attributes.has("gen_ai.operation.name")) return noEvent("aggregate");
    return readGenAiSpan(record, {
      family: serviceFamily(record.resource, "pydantic-ai"),
      agent: textOf(attributes, AGENT),
    });
  },
};

/** Its counts are estimates of the messages alone. The calls before and after it have the levels. */
function readCompaction(span: SpanRecord): RecordReading {
  const { attributes, resource, traceId, spanId, endAt } = span;
  if (truthOf(attributes, "gen_ai.conversation.compacted") !== true) return noEvent("not_needed");
  const session = textOf(attributes, ["gen_ai.conversation.id"]) ?? traceId;
  const owner = {
    harness: harnessName(resource, serviceFamily(resource, "pydantic-ai")),
    session,
    agent: textOf(attributes, AGENT),
  };
  const event: PlimsollEventInput = {
    ...eventEnvelope(owner, `compaction/${spanId}`, endAt),
    type: "compacted",
    trigger: "auto",
    tokens_before: undefined,
    tokens_after: undefined,
  };
  return session === "" ? noEvent("no_session") : { events: [event] };
}
