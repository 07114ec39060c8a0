import { OPEN_INFERENCE, OPEN_INFERENCE_BEDROCK } from "@plimsoll/fold";
import { textOf } from "../attributes.ts";
import { serviceFamily } from "../event-envelope.ts";
import type { ModelCallNames } from "../model-call.ts";
import { noEvent, type TelemetryDialect } from "../reading.ts";
import { readCallSpan, readToolSpan, SESSION } from "./gen-ai.ts";

const CALL: ModelCallNames = {
  model: ["llm.model_name", "gen_ai.response.model", "gen_ai.request.model"],
  usage: OPEN_INFERENCE,
  window: ["gen_ai.context.window_size"],
  costUsd: ["llm.cost.total"],
  stop: ["llm.finish_reason"],
};
const BEDROCK_CALL: ModelCallNames = { ...CALL, usage: OPEN_INFERENCE_BEDROCK };

/** OpenInference (Arize): spans of kind LLM and TOOL. Names: Arize-ai/openinference spec/semantic_conventions.md, 2026. */
export const openInference: TelemetryDialect = {
  name: "openinference",
  speaks: ({ attributes, signal }) => signal === "traces" && attributes.has("openinference.span.kind"),
  read(record) {
    if (record.signal !== "traces") return noEvent("not_needed");
    const { attributes, resource, scope } = record;
    const kind = textOf(attributes, ["openinference.span.kind"])?.toUpperCase();
    const sender = {
      family: serviceFamily(resource, "openinference"),
      session: textOf(attributes, SESSION),
      agent: textOf(attributes, ["agent.name"]),
      witness: "openinference" as const,
    };
    if (kind === "TOOL") return readToolSpan(record, sender);
    if (kind !== "LLM") return noEvent(attributes.has("llm.token_count.prompt") ? "aggregate" : "not_needed");
    const names = scope === "@arizeai/openinference-instrumentation-bedrock" ? BEDROCK_CALL : CALL;
    return readCallSpan(record, { ...sender, names });
  },
};
