import { CLINE_TELEMETRY } from "@plimsoll/fold";
import type { PlimsollEventInput } from "@plimsoll/protocol/events";
import { textOf, tokensOf } from "../telemetry/attributes.ts";
import { type EventOwner, eventEnvelope, harnessName } from "../telemetry/event-envelope.ts";
import { comesFrom } from "../telemetry/libraries/gen-ai.ts";
import { type ModelCallNames, modelCall } from "../telemetry/model-call.ts";
import { noEvent, type RecordReading, type TelemetryDialect } from "../telemetry/reading.ts";
import type { LogRecord } from "../telemetry/telemetry-record.ts";

const FAMILY = "cline";

const CALL: ModelCallNames = {
  model: ["model", "modelId", "model_id"],
  usage: CLINE_TELEMETRY,
  window: ["maxContextWindow", "max_context_window", "contextWindow"],
  costUsd: ["cost", "totalCost"],
};
const SESSION = ["ulid", "task_id", "taskId"];

/** Cline: log events `task.tokens` and `task.summarize_task`. Names: docs.cline.bot "OpenTelemetry Events", 2026. */
export const clineTelemetry: TelemetryDialect = {
  name: FAMILY,
  speaks: (record) => comesFrom(record, /^cline\b/),
  read(record) {
    if (record.signal !== "logs") return noEvent("not_needed");
    if (record.name !== "task.tokens" && record.name !== "task.summarize_task") return noEvent("not_needed");
    const session = textOf(record.attributes, SESSION);
    if (session === undefined) return noEvent("no_session");
    const owner = { harness: harnessName(record.resource, FAMILY), session };
    return record.name === "task.tokens" ? readTokens(record, owner) : readSummary(record, owner);
  },
};

function readTokens({ attributes, at }: LogRecord, owner: EventOwner): RecordReading {
  const counts = [CLINE_TELEMETRY.input, CLINE_TELEMETRY.output].map(
    (names) => tokensOf(attributes, names) ?? "-",
  );
  const turn = modelCall(attributes, CALL, { owner, id: `tokens/${at}/${counts.join("/")}`, at });
  return turn === undefined ? noEvent("no_usage") : { events: [turn] };
}

/** Its counts are estimates, or have the answer too. The calls before and after it have the levels. */
function readSummary({ at }: LogRecord, owner: EventOwner): RecordReading {
  const event: PlimsollEventInput = {
    ...eventEnvelope(owner, `summary/${at}`, at),
    type: "compacted",
    trigger: "auto",
    tokens_before: undefined,
    tokens_after: undefined,
  };
  return { events: [event] };
}
