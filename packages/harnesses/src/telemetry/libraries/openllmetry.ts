import { textOf } from "../attributes.ts";
import { serviceFamily } from "../event-envelope.ts";
import { noEvent, type TelemetryDialect } from "../reading.ts";
import { readGenAiSpan } from "./gen-ai.ts";

const PROPERTIES = "traceloop.association.properties.";
const SESSION = [
  "gen_ai.conversation.id",
  ...["session_id", "conversation_id", "thread_id", "chat_id"].map((name) => PROPERTIES + name),
];
/** What the SDK puts around calls: `workflow`, `task`, `agent` or `tool`. */
const KIND = "traceloop.span.kind";
const CALLS = new Set(["chat", "completion", "responses"]);

/** OpenLLMetry (Traceloop): spans with `llm.request.type`. Names: traceloop/openllmetry semconv_ai, June 2026. */
export const openLlmetry: TelemetryDialect = {
  name: "openllmetry",
  speaks: ({ attributes, signal }) =>
    signal === "traces" && (attributes.has("llm.request.type") || attributes.has(KIND)),
  read(record) {
    if (record.signal !== "traces") return noEvent("not_needed");
    const { attributes } = record;
    const type = textOf(attributes, ["llm.request.type"]);
    if (type === undefined || !CALLS.has(type)) return noEvent("not_needed");
    return readGenAiSpan(record, {
      family: serviceFamily(record.resource, "openllmetry"),
      session: textOf(attributes, SESSION),
      agent: textOf(attributes, ["gen_ai.agent.name"]),
    });
  },
};
