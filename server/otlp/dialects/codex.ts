import { instantMs } from "@plimsoll/protocol";
import { textOf } from "../attributes.ts";
import { harnessName } from "../event-envelope.ts";
import { type ModelCallNames, modelCall } from "../model-call.ts";
import { noEvent, type TelemetryDialect } from "../reading.ts";
import type { TelemetryRecord } from "../telemetry-record.ts";
import { comesFrom } from "./gen-ai.ts";

const FAMILY = "codex";

/** `tool_token_count` is the total of the call, in spite of its name. */
const CALL: ModelCallNames = {
  model: ["model", "slug"],
  input: ["input_token_count"],
  cacheRead: ["cached_token_count"],
  cacheWrite: ["cache_write_token_count"],
  output: ["output_token_count"],
  reasoning: ["reasoning_token_count"],
  window: ["gen_ai.context.window_size"],
  costUsd: [],
  basis: "inclusive",
};

/**
 * Codex: log events `codex.sse_event` of kind `response.completed`. Its spans repeat them. Names:
 * codex-rs/otel/src/events/session_telemetry.rs at 0136a73, September 2026; seen from 0.169.0.
 */
export const codex: TelemetryDialect = {
  name: FAMILY,
  speaks: (record) => comesFrom(record, /^codex(?![a-z])/) || /^codex\./.test(record.name),
  read(record) {
    if (record.signal === "traces") return noEvent("reported_elsewhere");
    const { attributes } = record;
    if (nameOf(record) !== "codex.sse_event" || attributes.get("event.kind") !== "response.completed")
      return noEvent("not_needed");
    const session = textOf(attributes, ["conversation.id"]);
    if (session === undefined) return noEvent("no_session");
    const counts = [...CALL.input, ...CALL.output].map((name) => textOf(attributes, [name]) ?? "-");
    const at = timeOf(record.at, textOf(attributes, ["event.timestamp"]));
    const turn = modelCall(attributes, CALL, {
      owner: { harness: harnessName(record.resource, FAMILY), session },
      // The event names no response, but a thread makes one call at a time.
      id: `response/${at}/${counts.join("/")}`,
      at,
    });
    if (turn !== undefined) return { events: [turn] };
    // Another record of the same response has its duration in place of counts.
    const isOther = attributes.has("error.message") || attributes.has("duration_ms");
    return noEvent(isOther ? "not_needed" : "no_usage");
  },
};

/** The name of the record itself is a line of Codex's source, such as `event otel/src/events/session_telemetry.rs:1153`. */
const nameOf = ({ name, attributes }: TelemetryRecord) => textOf(attributes, ["event.name"]) ?? name;

/** The exporter leaves the time of the record empty. */
function timeOf(recordAt: number, eventAt: string | undefined): number {
  const at = eventAt === undefined ? Number.NaN : instantMs(eventAt);
  return Number.isNaN(at) ? recordAt : at;
}
