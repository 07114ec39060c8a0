import type { UnmappedReason } from "@plimsoll/protocol/api";
import {
  type CompiledMapping,
  type MatchedRecord,
  mappedTurn,
  matchesTelemetry,
} from "@plimsoll/protocol/mapping";
import { fitName } from "../recordings/text.ts";
import { textOf } from "./attributes.ts";
import { harnessName, serviceFamily } from "./event-envelope.ts";
import { noEvent, type RecordReading } from "./reading.ts";
import type { LogRecord, SpanRecord } from "./telemetry-record.ts";

/** The first mapping that reads a record. */
export function mappingOf(
  mappings: readonly CompiledMapping[],
  record: LogRecord | SpanRecord,
): CompiledMapping | undefined {
  if (mappings.length === 0) return undefined;
  const matched: MatchedRecord = {
    signal: record.signal,
    service: textOf(record.resource, ["service.name"]) ?? "",
    scope: record.scope,
    name: record.name,
    attribute: (name) => record.attributes.get(name),
  };
  return mappings.find(({ mapping }) => matchesTelemetry(mapping, matched));
}

const REASONS = {
  no_usage: "no_usage",
  zero_usage: "no_usage",
  no_session: "no_session",
  no_time: "no_time",
} as const satisfies Record<string, UnmappedReason>;

/** Reads a record by a mapping. */
export function readMapped(compiled: CompiledMapping, record: LogRecord | SpanRecord): RecordReading {
  const { event, reason } = mappedTurn(compiled, recordJson(record), {
    harness: harnessName(record.resource, serviceFamily(record.resource, compiled.mapping.name)),
    session: record.traceId,
    id: record.signal === "traces" ? `span/${record.spanId}` : undefined,
    at: timeOf(record),
    fit: fitName,
  });
  return event === undefined ? noEvent(REASONS[reason]) : { events: [{ ...event, witness: "otlp" }] };
}

const timeOf = (record: LogRecord | SpanRecord) => (record.signal === "traces" ? record.endAt : record.at);

/** The JSON that the paths of a mapping refer to. Ids are hexadecimal, times epoch ms. */
export function recordJson(record: LogRecord | SpanRecord): unknown {
  return {
    signal: record.signal,
    scope: record.scope,
    name: record.name,
    trace_id: record.traceId,
    span_id: record.spanId,
    ...(record.signal === "traces" && { start_at: record.startAt }),
    at: timeOf(record),
    resource: Object.fromEntries(record.resource),
    attributes: Object.fromEntries(record.attributes),
  };
}
