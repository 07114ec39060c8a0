import { textOf } from "../attributes.ts";
import { serviceFamily } from "../event-envelope.ts";
import { noEvent, type TelemetryDialect } from "../reading.ts";
import { GEN_AI_CALL, readGenAiSpan } from "./gen-ai.ts";

const KIND = "lmnr.span.type";
const SESSION = ["lmnr.association.properties.session_id", "gen_ai.conversation.id"];

/** OpenHands exports through Laminar, which marks calls with `lmnr.span.type`. Names: openhands-sdk 1.43, lmnr 0.7, 2026. */
export const openHands: TelemetryDialect = {
  name: "openhands",
  speaks: ({ attributes, signal }) => signal === "traces" && attributes.has(KIND),
  read(record) {
    if (record.signal !== "traces") return noEvent("not_needed");
    const { attributes } = record;
    if (attributes.get(KIND) !== "LLM")
      return noEvent(
        GEN_AI_CALL.usage.input.some((name) => attributes.has(name)) ? "aggregate" : "not_needed",
      );
    return readGenAiSpan(record, {
      family: serviceFamily(record.resource, "openhands"),
      session: textOf(attributes, SESSION),
      agent: textOf(attributes, ["gen_ai.agent.name"]),
    });
  },
};
