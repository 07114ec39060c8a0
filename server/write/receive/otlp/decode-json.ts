import {
  type Attributes,
  type AttributeValue,
  eventName,
  isListOfAnswers,
  isOfPrompt,
  LONGEST_TEXT,
  type LogRecord,
  longestText,
  type MetricRecord,
  MOST_ATTRIBUTES,
  MOST_EVENTS,
  nanosecondsToMs,
  type SpanEvent,
  type SpanRecord,
  STATUS_ERROR,
  type TelemetryOrigin,
  type TelemetryRecord,
  type UnreadableRecord,
} from "@plimsoll/harnesses/telemetry";
import { TELEMETRY_SIGNALS, type TelemetrySignal } from "@plimsoll/protocol/api";
import { type BodyBudget, tooManyValues } from "../../../bodies/body-budget.ts";
import { PlimsollError } from "../../../errors.ts";
import { PromptAttributes, type PromptHolder } from "./prompt-attributes.ts";
import { type JsonRecord, type JsonResource, notOtlp, parseRest, splitOtlpJson } from "./split-json.ts";

/** Largest record that is parsed, in bytes. */
const MOST_RECORD_BYTES = 4 * 1024 * 1024;

/** Names of the lists of each signal. */
const LISTS = {
  traces: { resources: "resourceSpans", scopes: "scopeSpans", records: "spans", read: spanOf },
  logs: { resources: "resourceLogs", scopes: "scopeLogs", records: "logRecords", read: logOf },
  metrics: { resources: "resourceMetrics", scopes: "scopeMetrics", records: "metrics", read: metricOf },
} as const;

type Fields = Record<string, unknown>;

/**
 * Reads an OTLP/JSON export request one record at a time. Yields undefined where the work may pause.
 * @throws PlimsollError `bad_request` or `too_large`, which refuse the whole request
 */
export function* decodeJson(
  bytes: Buffer,
  signal: TelemetrySignal,
  budget: BodyBudget,
): Generator<TelemetryRecord | UnreadableRecord | undefined, void> {
  const body = yield* splitOtlpJson(bytes, budget);
  const rest = parseRest(body);
  checkSignal(rest, signal);
  for (const index of listIn(rest as Fields, LISTS[signal].resources)) {
    yield;
    const resource = body.resources[index as number];
    if (resource !== undefined) yield* budget.holding(resource.values, recordsOf(bytes, resource, signal));
  }
}

/** Reads what one resource sent. */
function* recordsOf(
  bytes: Buffer,
  entry: JsonResource,
  signal: TelemetrySignal,
): Generator<TelemetryRecord | UnreadableRecord | undefined, void> {
  const fields = parseRest(entry);
  if (!isObject(fields)) return;
  const { scopes, records, read } = LISTS[signal];
  const resource = attributesOf(objectIn(fields, "resource"));
  for (const group of objectsIn(fields, scopes)) {
    const origin = { resource, scope: textIn(objectIn(group, "scope"), "name") };
    yield;
    for (const index of listIn(group, records))
      for (const record of entry.lists[index as number] ?? [])
        yield recordOf(bytes, record, (one) => read(one, origin));
  }
}

/** A body for another path would be read as an empty one, and nobody would hear of what was lost. */
function checkSignal(rest: unknown, signal: TelemetrySignal): void {
  if (!isObject(rest)) throw notOtlp();
  const sent = TELEMETRY_SIGNALS.find((one) => LISTS[one].resources in rest);
  if (sent === undefined || sent === signal || LISTS[signal].resources in rest) return;
  throw new PlimsollError("bad_request", `The body has ${sent}, not ${signal}. Send it to /otlp/v1/${sent}.`);
}

function recordOf(
  bytes: Buffer,
  { from, to, values }: JsonRecord,
  read: (fields: Fields) => TelemetryRecord,
): TelemetryRecord | UnreadableRecord {
  if (to - from > MOST_RECORD_BYTES)
    return { unreadable: `A record of ${to - from} bytes is over the limit of ${MOST_RECORD_BYTES}.` };
  const tooMany = tooManyValues(values);
  if (tooMany !== undefined) return { unreadable: `A record ${tooMany}.` };
  try {
    const value: unknown = JSON.parse(bytes.toString("utf8", from, to));
    return isObject(value) ? read(value) : { unreadable: "A record is not an object." };
  } catch {
    return { unreadable: "A record is not valid JSON." };
  }
}

function spanOf(fields: Fields, origin: TelemetryOrigin): SpanRecord {
  const span: SpanRecord & PromptHolder = {
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
    attributes: NONE,
    events: [],
    prompt: undefined,
  };
  span.attributes = attributesOf(fields, span);
  span.events = objectsIn(fields, "events")
    .slice(0, MOST_EVENTS)
    .map((event) => spanEvent(event, span));
  if (Number(fields.droppedAttributesCount) > 0 || span.attributes.size >= MOST_ATTRIBUTES)
    span.prompt = undefined;
  return span;
}

const NONE: Attributes = new Map();

/** Enums are numbers in OTLP, and names in the mapping of protobuf to JSON. */
const isError = (code: unknown): boolean => code === STATUS_ERROR || code === "STATUS_CODE_ERROR";

function spanEvent(fields: Fields, span: PromptHolder): SpanEvent {
  return {
    name: textIn(fields, "name"),
    at: nanosecondsToMs(fields.timeUnixNano),
    attributes: attributesOf(fields, span),
  };
}

function logOf(fields: Fields, origin: TelemetryOrigin): LogRecord {
  const holder: PromptHolder = { prompt: undefined };
  const attributes = attributesOf(fields, holder);
  const isCut = Number(fields.droppedAttributesCount) > 0 || attributes.size >= MOST_ATTRIBUTES;
  return {
    resource: origin.resource,
    scope: origin.scope,
    signal: "logs",
    name: eventName(textIn(fields, "eventName"), attributes, attributeValue(fields.body)),
    traceId: textIn(fields, "traceId").toLowerCase(),
    spanId: textIn(fields, "spanId").toLowerCase(),
    at: nanosecondsToMs(fields.timeUnixNano) || nanosecondsToMs(fields.observedTimeUnixNano),
    attributes,
    prompt: isCut ? undefined : holder.prompt,
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

function attributesOf(fields: Fields | undefined, holder?: PromptHolder): Attributes {
  const attributes = new Map<string, AttributeValue>();
  for (const pair of objectsIn(fields, "attributes").slice(0, MOST_ATTRIBUTES)) {
    const key = textIn(pair, "key");
    if (key === "") continue;
    attributes.set(key, attributeValue(firstAnswer(key, pair.value), longestText(key)));
    // The record is parsed already, and is not larger than a prompt may be.
    if (holder !== undefined && isOfPrompt(key)) {
      holder.prompt ??= new PromptAttributes();
      holder.prompt.add(key, 0, () => plainValue(pair.value));
    }
  }
  return attributes;
}

/** Lists and maps as JSON has them. */
function plainValue(value: unknown): unknown {
  if (!isObject(value)) return undefined;
  if (isObject(value.arrayValue)) return listIn(value.arrayValue, "values").map(plainValue);
  if (isObject(value.kvlistValue))
    return Object.fromEntries(
      objectsIn(value.kvlistValue, "values").map((pair) => [textIn(pair, "key"), plainValue(pair.value)]),
    );
  return typeof value.stringValue === "string" ? value.stringValue : (attributeValue(value) ?? undefined);
}

function firstAnswer(key: string, value: unknown): unknown {
  if (!isListOfAnswers(key) || !isObject(value) || !isObject(value.arrayValue)) return value;
  const { values } = value.arrayValue;
  return Array.isArray(values) ? values[0] : undefined;
}

/** 64-bit integers are decimal texts or numbers. */
function attributeValue(value: unknown, longest = LONGEST_TEXT): AttributeValue {
  if (!isObject(value)) return null;
  const { stringValue, boolValue, intValue, doubleValue } = value;
  if (typeof stringValue === "string") return Buffer.byteLength(stringValue) > longest ? null : stringValue;
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
