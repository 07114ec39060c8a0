import { textOf } from "../attributes.ts";
import { serviceFamily } from "../event-envelope.ts";
import { noEvent, type TelemetryDialect } from "../reading.ts";
import { isInference, readGenAiSpan, readToolSpan, SESSION } from "./gen-ai.ts";

/** What the SDK puts around calls: `workflow`, `task`, `agent` or `tool`. */
const KIND = "traceloop.span.kind";

/** Its JavaScript packages; 0.27 follows the GenAI conventions without names of its own. */
const SCOPE = "@traceloop/";

/** OpenLLMetry (Traceloop): spans with `llm.request.type`. Names: traceloop/openllmetry semconv_ai, June 2026. */
export const openLlmetry: TelemetryDialect = {
  name: "openllmetry",
  speaks: ({ attributes, signal, scope }) =>
    signal === "traces" &&
    (attributes.has("llm.request.type") || attributes.has(KIND) || scope.startsWith(SCOPE)),
  read(record) {
    if (record.signal !== "traces") return noEvent("not_needed");
    const { attributes } = record;
    const sender = {
      family: serviceFamily(record.resource, "openllmetry"),
      agent: textOf(attributes, ["gen_ai.agent.name"]),
      witness: "instrumentation" as const,
    };
    if (attributes.get(KIND) === "tool")
      return readToolSpan(record, { ...sender, session: textOf(attributes, SESSION) });
    const type = textOf(attributes, ["llm.request.type"]);
    const isCall = type === undefined ? attributes.has("gen_ai.operation.name") : isInference(type);
    if (!isCall) return noEvent("not_needed");
    return readGenAiSpan(record, sender);
  },
};
