import { textOf } from "../attributes.ts";
import { serviceFamily } from "../event-envelope.ts";
import { noEvent, type TelemetryDialect } from "../reading.ts";
import { readGenAiSpan } from "./gen-ai.ts";

/**
 * OpenLIT: GenAI conventions with its own names for caches, costs and the window, which `GEN_AI_CALL` has. It repeats a call as
 * an event. Names: openlit/openlit sdk/python semcov, August 2026.
 */
export const openLit: TelemetryDialect = {
  name: "openlit",
  speaks: ({ attributes, resource, scope }) =>
    resource.get("telemetry.sdk.name") === "openlit" ||
    attributes.get("telemetry.sdk.name") === "openlit" ||
    scope.startsWith("openlit."),
  read(record) {
    if (record.signal !== "traces") return noEvent("reported_elsewhere");
    return readGenAiSpan(record, {
      family: serviceFamily(record.resource, "openlit"),
      agent: textOf(record.attributes, ["gen_ai.agent.name"]),
      witness: "instrumentation",
    });
  },
};
