import { TELEMETRY_SIGNALS, type TelemetrySignal } from "@plimsoll/protocol";
import { PlimsollError } from "../errors.ts";
import { splitOtlpJson } from "./split-json.ts";
import {
  type Attributes,
  type AttributeValue,
  eventName,
  LONGEST_TEXT,
  type LogRecord,
  type MetricRecord,
  MOST_ATTRIBUTES,
  MOST_EVENTS,
  nanosecondsToMs,
  type SpanEvent,
  type SpanRecord,
  STATUS_ERROR,
  type TelemetryOrigin,
  type TelemetryRecord,
} from "./telemetry-record.ts";

/** Largest record that is parsed, in bytes. */
const MOST_RECORD_BYTES = 4 * 1024 * 1024;

/** Names of the lists of each signal. */
const LISTS = {
  traces: { resources: "resourceSpans", scopes: "scopeSpans", records: "spans", read: spanOf },
  logs: { resources: "resourceLogs", scopes: "scopeLogs", records: "logRecords", read: logOf },
  metrics: { resources: "resourceMetrics", scopes: "scopeMetrics", records: "metrics", read: metricOf },
} as const;

/** A record that was not read, and why. */
export interface UnreadableRecord {
  unreadable: string;
}

type Fields = Record<string, unknown>;

/**
 * Reads an OTLP/JSON export request one record at a time. Yields undefined where the work may pause.
 * @throws PlimsollError `bad_request` or `too_large`, which refuse the whole request
 */
export function* decodeJson(
  bytes: Buffer,
  signal: TelemetrySignal,
): Generator<TelemetryRecord | UnreadableRecord | undefined> {
  const { rest, lists } = yield* splitOtlpJson(bytes);
  checkSignal(rest, signal);
  const { resources, scopes, records, read } = LISTS[signal];
  for (const entry of objectsIn(rest, resources)) {
    const resource = attributesOf(objectIn(entry, "resource"));
    for (const group of objectsIn(entry, scopes)) {
      const origin = { resource, scope: textIn(objectIn(group, "scope"), "name") };
      for (const index of listIn(group, records)) {
        const positions = typeof index === "number" ? (lists[index] ?? []) : [];
        for (let at = 0; at < positions.length; at += 2) {
          yield recordOf(bytes, positions[at]!, positions[at + 1]!, (fields) => read(fields, origin));
        }
      }
    }
  }
}

/** A body for another path would be read as an empty one, and nobody would hear of what was lost. */
function checkSignal(rest: unknown, signal: TelemetrySignal): void {
  if (!isObject(rest))
    throw new PlimsollError("bad_request", "The body is not an OTLP export request in JSON.");
  const sent = TELEMETRY_SIGNALS.find((one) => LISTS[one].resources in rest);
  if (sent === undefined || sent === signal || LISTS[signal].resources in rest) return;
  throw new PlimsollError("bad_request", `The body has ${sent}, not ${signal}. Send it to /otlp/v1/${sent}.`);
}

function recordOf(
  bytes: Buffer,
  from: number,
  to: number,
  read: (fields: Fields) => TelemetryRecord,
): TelemetryRecord | UnreadableRecord {
  if (to - from > MOST_RECORD_BYTES)
    return { unreadable: `A record of ${to - from} bytes is over the limit of ${MOST_RECORD_BYTES}.` };
  try {
    const value: unknown = JSON.parse(bytes.toString("utf8", from, to));
    return isObject(value) ? read(value) : { unreadable: "A record is not an object." };
  } catch {
    return { unreadable: "A record is not valid JSON." };
  }
}

function spanOf(fields: Fields, origin: TelemetryOrigin): SpanRecord {
  return {
    resource: origin.resource,
    scope: origin.scope,
    signal: "traces",
    name: textIn(fields, "name"),
    traceId: textIn(fields, "traceId").toLowerCase(),
    spanId: textIn(fields, "spanId").toLowerCase(),
    parentSpanId: textIn(fields, "parentSpanId").toLowerCase(),
    startAt: nanosecondsToMs(fields.startTimeUnixNano),
    endAt: nanosecondsToMs(fields.endTimeUnixNano),
    failed: isError(objectIn(fields, "status")?.code),
    attributes: attributesOf(fields),
    events: objectsIn(fields, "events").slice(0, MOST_EVENTS).map(spanEvent),
  };
}

/** Enums are numbers in OTLP, and names in the mapping of protobuf to JSON. */
const isError = (code: unknown): boolean => code === STATUS_ERROR || code === "STATUS_CODE_ERROR";

function spanEvent(fields: Fields): SpanEvent {
  return {
    name: textIn(fields, "name"),
    at: nanosecondsToMs(fields.timeUnixNano),
    attributes: attributesOf(fields),
  };
}

function logOf(fields: Fields, origin: TelemetryOrigin): LogRecord {
  const attributes = attributesOf(fields);
  return {
    resource: origin.resource,
    scope: origin.scope,
    signal: "logs",
    name: eventName(textIn(fields, "eventName"), attributes, attributeValue(fields.body)),
    traceId: textIn(fields, "traceId").toLowerCase(),
    spanId: textIn(fields, "spanId").toLowerCase(),
    at: nanosecondsToMs(fields.timeUnixNano) || nanosecondsToMs(fields.observedTimeUnixNano),
    attributes,
  };
}

const KINDS_OF_METRIC = ["gauge", "sum", "histogram", "exponentialHistogram", "summary"];

function metricOf(fields: Fields, origin: TelemetryOrigin): MetricRecord {
  const points = KINDS_OF_METRIC.flatMap((kind) => objectsIn(objectIn(fields, kind), "dataPoints"));
  return {
    resource: origin.resource,
    scope: origin.scope,
    signal: "metrics",
    name: textIn(fields, "name"),
    points: points.length,
    attributes: attributesOf(points[0]),
  };
}

function attributesOf(fields: Fields | undefined): Attributes {
  const attributes = new Map<string, AttributeValue>();
  for (const pair of objectsIn(fields, "attributes").slice(0, MOST_ATTRIBUTES)) {
    const key = textIn(pair, "key");
    if (key !== "") attributes.set(key, attributeValue(pair.value));
  }
  return attributes;
}

/** 64-bit integers are decimal texts or numbers. */
function attributeValue(value: unknown): AttributeValue {
  if (!isObject(value)) return null;
  const { stringValue, boolValue, intValue, doubleValue } = value;
  if (typeof stringValue === "string")
    return Buffer.byteLength(stringValue) > LONGEST_TEXT ? null : stringValue;
  if (typeof boolValue === "boolean") return boolValue;
  if (typeof intValue === "number") return intValue;
  if (typeof intValue === "string") return /^-?\d{1,20}$/.test(intValue) ? Number(intValue) : null;
  return typeof doubleValue === "number" ? doubleValue : null;
}

function isObject(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function objectIn(fields: Fields | undefined, name: string): Fields | undefined {
  const value = fields?.[name];
  return isObject(value) ? value : undefined;
}

function listIn(fields: Fields | undefined, name: string): unknown[] {
  const value = fields?.[name];
  return Array.isArray(value) ? value : [];
}

function objectsIn(fields: unknown, name: string): Fields[] {
  return isObject(fields) ? listIn(fields, name).filter(isObject) : [];
}

function textIn(fields: Fields | undefined, name: string): string {
  const value = fields?.[name];
  return typeof value === "string" ? value : "";
}
