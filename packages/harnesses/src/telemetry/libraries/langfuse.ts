import { type CountedUsage, LANGFUSE, pathsIn, readAnswer, readCounts } from "@plimsoll/fold";
import { parseObject } from "../../recordings/json.ts";
import { textOf } from "../attributes.ts";
import { serviceFamily } from "../event-envelope.ts";
import { noEvent, type TelemetryDialect } from "../reading.ts";
import type { Attributes } from "../telemetry-record.ts";
import { GEN_AI_CALL, readCallSpan } from "./gen-ai.ts";

const KIND = "langfuse.observation.type";
const CALL = { ...GEN_AI_CALL, model: ["langfuse.observation.model.name", ...GEN_AI_CALL.model] };
const SESSION = ["session.id", "langfuse.session.id"];

/**
 * Observations of Langfuse's SDKs. Those of type `generation` are calls, with their usage as JSON in a text. Names: langfuse-js 5.10
 * packages/core/src/constants.ts, August 2026.
 */
export const langfuse: TelemetryDialect = {
  name: "langfuse",
  speaks: ({ attributes, signal }) => signal === "traces" && attributes.has(KIND),
  read(record) {
    if (record.signal !== "traces" || record.attributes.get(KIND) !== "generation")
      return noEvent("not_needed");
    return readCallSpan(record, {
      family: serviceFamily(record.resource, "langfuse"),
      session: textOf(record.attributes, SESSION),
      names: CALL,
      counted: countsOf(record.attributes),
    });
  },
};

/** A program may also give the usage object of its provider as it is. */
function countsOf(attributes: Attributes): CountedUsage | undefined {
  const details = parseObject(textOf(attributes, ["langfuse.observation.usage_details"]) ?? "");
  return details && (readAnswer(details) ?? readCounts(LANGFUSE, pathsIn(details)));
}
