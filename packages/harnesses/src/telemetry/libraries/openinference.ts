import { textOf } from "../attributes.ts";
import { harnessName, serviceFamily } from "../event-envelope.ts";
import { type ModelCallNames, modelCall } from "../model-call.ts";
import { noEvent, type TelemetryDialect } from "../reading.ts";
import { SESSION, spanDuration, withoutUsage } from "./gen-ai.ts";

const CALL: ModelCallNames = {
  model: ["llm.model_name", "gen_ai.response.model", "gen_ai.request.model"],
  input: ["llm.token_count.prompt"],
  cacheRead: ["llm.token_count.prompt_details.cache_read", "llm.token_count.prompt_details.cache_input"],
  cacheWrite: ["llm.token_count.prompt_details.cache_write"],
  output: ["llm.token_count.completion"],
  reasoning: ["llm.token_count.completion_details.reasoning"],
  window: ["gen_ai.context.window_size"],
  costUsd: ["llm.cost.total"],
};

/** OpenInference (Arize): spans of kind LLM. Names: Arize-ai/openinference spec/semantic_conventions.md, 2026. */
export const openInference: TelemetryDialect = {
  name: "openinference",
  speaks: ({ attributes, signal }) => signal === "traces" && attributes.has("openinference.span.kind"),
  read(record) {
    if (record.signal !== "traces") return noEvent("not_needed");
    const { attributes, resource, spanId, traceId, endAt } = record;
    if (textOf(attributes, ["openinference.span.kind"])?.toUpperCase() !== "LLM")
      return noEvent(attributes.has("llm.token_count.prompt") ? "aggregate" : "not_needed");
    const session = textOf(attributes, SESSION) ?? traceId;
    if (session === "") return noEvent("no_session");
    const turn = modelCall(attributes, CALL, {
      owner: {
        harness: harnessName(resource, serviceFamily(resource, "openinference")),
        session,
        agent: textOf(attributes, ["agent.name"]),
      },
      id: `span/${spanId}`,
      at: endAt,
      durationMs: spanDuration(record),
      // The SDK may have spans of its own for the same calls.
      witness: "openinference",
    });
    return turn === undefined ? noEvent(withoutUsage(record)) : { events: [turn] };
  },
};
