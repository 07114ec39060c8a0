import { type CountedUsage, GENKIT, GENKIT_ANTHROPIC, pathsIn, readCounts } from "@plimsoll/fold";
import { asObject, parseObject } from "../../recordings/json.ts";
import { textOf } from "../attributes.ts";
import { serviceFamily } from "../event-envelope.ts";
import { noEvent, type TelemetryDialect } from "../reading.ts";
import type { Attributes } from "../telemetry-record.ts";
import { GEN_AI_CALL, readCallSpan } from "./gen-ai.ts";

const CALL = { ...GEN_AI_CALL, model: ["genkit:name"] };

/**
 * Genkit: actions of subtype `model` are calls, with their usage in the JSON of the answer; flows and helpers around them repeat it.
 * Names: firebase/genkit js/core/src/tracing/instrumentation.ts at 77656d5, 2026.
 */
export const genkit: TelemetryDialect = {
  name: "genkit",
  speaks: ({ attributes, signal }) => signal === "traces" && attributes.has("genkit:type"),
  read(record) {
    if (record.signal !== "traces" || record.attributes.get("genkit:metadata:subtype") !== "model")
      return noEvent("not_needed");
    return readCallSpan(record, {
      family: serviceFamily(record.resource, "genkit"),
      session: textOf(record.attributes, ["genkit:sessionId"]),
      names: CALL,
      counted: countsOf(record.attributes),
    });
  },
};

function countsOf(attributes: Attributes): CountedUsage | undefined {
  const usage = asObject(parseObject(textOf(attributes, ["genkit:output"]) ?? "")?.usage);
  if (usage === undefined) return undefined;
  const get = pathsIn(usage);
  const isAnthropic = GENKIT_ANTHROPIC.cacheRead.some((name) => get(name) !== undefined);
  return readCounts(isAnthropic ? GENKIT_ANTHROPIC : GENKIT, get);
}
