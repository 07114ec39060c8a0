import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import type { TelemetrySignal } from "@plimsoll/protocol";
import { PlimsollError } from "../errors.ts";
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

/**
 * Reads an OTLP export request one record at a time and builds no tree of objects. Yields undefined where there is no
 * record, so that the work can pause there too. Field numbers are those of opentelemetry-proto 1.x; other fields are
 * skipped.
 * @throws PlimsollError `bad_request` if the bytes are not protobuf
 */
export function* decodeProtobuf(
  bytes: Uint8Array,
  signal: TelemetrySignal,
): Generator<TelemetryRecord | undefined> {
  try {
    for (const entry of messages(bytes, 1)) yield* recordsOf(entry, signal);
  } catch (cause) {
    if (cause instanceof PlimsollError) throw cause;
    throw new PlimsollError("bad_request", "The body is not an OTLP export request in protobuf.", { cause });
  }
}

const READERS = { traces: spanOf, logs: logOf, metrics: metricOf };

/** Reads what one resource sent: its records, below their scopes. */
function* recordsOf(entry: Uint8Array, signal: TelemetrySignal): Generator<TelemetryRecord | undefined> {
  let resource: Attributes = new Map();
  for (const found of messages(entry, 1)) resource = attributesIn(found, 1);
  const read = READERS[signal];
  yield;
  for (const group of messages(entry, 2)) {
    const origin = { resource, scope: scopeName(group) };
    yield;
    for (const record of messages(group, 2)) yield read(record, origin);
  }
}

function scopeName(bytes: Uint8Array): string {
  let name = "";
  for (const scope of messages(bytes, 1)) {
    eachField(scope, (field, reader) => {
      if (field !== 1) return false;
      name = textIn(reader) ?? "";
      return true;
    });
  }
  return name;
}

function spanOf(bytes: Uint8Array, origin: TelemetryOrigin): SpanRecord {
  const span: SpanRecord = {
    ...origin,
    signal: "traces",
    name: "",
    traceId: "",
    spanId: "",
    startAt: 0,
    endAt: 0,
    failed: false,
    attributes: new Map(),
    events: [],
  };
  const attributes = new Map<string, AttributeValue>();
  const events: SpanEvent[] = [];
  eachField(bytes, (field, reader) => {
    if (field === 1) span.traceId = hexIn(reader);
    else if (field === 2) span.spanId = hexIn(reader);
    else if (field === 5) span.name = textIn(reader) ?? "";
    else if (field === 7) span.startAt = nanosecondsToMs(reader.fixed64());
    else if (field === 8) span.endAt = nanosecondsToMs(reader.fixed64());
    else if (field === 9) addAttribute(reader.bytes(), attributes);
    else if (field === 11 && events.length < MOST_EVENTS) events.push(spanEvent(reader.bytes()));
    else if (field === 15) span.failed = isError(reader.bytes());
    else return false;
    return true;
  });
  return { ...span, attributes, events };
}

/** Reads a Status. */
function isError(bytes: Uint8Array): boolean {
  let code = 0;
  eachField(bytes, (field, reader) => {
    if (field !== 3) return false;
    code = reader.int32();
    return true;
  });
  return code === STATUS_ERROR;
}

function spanEvent(bytes: Uint8Array): SpanEvent {
  const attributes = new Map<string, AttributeValue>();
  const event = { name: "", at: 0, attributes };
  eachField(bytes, (field, reader) => {
    if (field === 1) event.at = nanosecondsToMs(reader.fixed64());
    else if (field === 2) event.name = textIn(reader) ?? "";
    else if (field === 3) addAttribute(reader.bytes(), attributes);
    else return false;
    return true;
  });
  return event;
}

function logOf(bytes: Uint8Array, origin: TelemetryOrigin): LogRecord {
  const attributes = new Map<string, AttributeValue>();
  let at = 0;
  let observedAt = 0;
  let body: AttributeValue = null;
  let traceId = "";
  let spanId = "";
  let name = "";
  eachField(bytes, (field, reader) => {
    if (field === 1) at = nanosecondsToMs(reader.fixed64());
    else if (field === 5) body = valueIn(reader.bytes());
    else if (field === 6) addAttribute(reader.bytes(), attributes);
    else if (field === 9) traceId = hexIn(reader);
    else if (field === 10) spanId = hexIn(reader);
    else if (field === 11) observedAt = nanosecondsToMs(reader.fixed64());
    else if (field === 12) name = textIn(reader) ?? "";
    else return false;
    return true;
  });
  return {
    ...origin,
    signal: "logs",
    name: eventName(name, attributes, body),
    traceId,
    spanId,
    at: at || observedAt,
    attributes,
  };
}

/** Fields of a metric that hold data points, and the field of attributes in a point of each. */
const POINTS: ReadonlyMap<number, number> = new Map([
  [5, 7],
  [7, 7],
  [9, 9],
  [10, 1],
  [11, 7],
]);

function metricOf(bytes: Uint8Array, origin: TelemetryOrigin): MetricRecord {
  let name = "";
  let points = 0;
  let attributes: Attributes = new Map();
  eachField(bytes, (field, reader) => {
    const attributeField = POINTS.get(field);
    if (field === 1) name = textIn(reader) ?? "";
    else if (attributeField !== undefined) {
      for (const point of messages(reader.bytes(), 1)) {
        if (points === 0) attributes = attributesIn(point, attributeField);
        points += 1;
      }
    } else return false;
    return true;
  });
  return { ...origin, signal: "metrics", name, points, attributes };
}

function attributesIn(bytes: Uint8Array, field: number): Attributes {
  const attributes = new Map<string, AttributeValue>();
  for (const pair of messages(bytes, field)) addAttribute(pair, attributes);
  return attributes;
}

/** Reads a KeyValue. */
function addAttribute(bytes: Uint8Array, attributes: Map<string, AttributeValue>): void {
  if (attributes.size >= MOST_ATTRIBUTES) return;
  let key = "";
  let value: AttributeValue = null;
  eachField(bytes, (field, reader) => {
    if (field === 1) key = textIn(reader) ?? "";
    else if (field === 2) value = valueIn(reader.bytes());
    else return false;
    return true;
  });
  if (key !== "") attributes.set(key, value);
}

/** Reads an AnyValue. */
function valueIn(bytes: Uint8Array): AttributeValue {
  let value: AttributeValue = null;
  eachField(bytes, (field, reader) => {
    if (field === 1) value = textIn(reader) ?? null;
    else if (field === 2) value = reader.bool();
    else if (field === 3) value = Number(reader.int64());
    else if (field === 4) value = reader.double();
    else return false;
    return true;
  });
  return value;
}

const decoder = new TextDecoder();

/** @returns undefined if the text is longer than `LONGEST_TEXT` */
function textIn(reader: BinaryReader): string | undefined {
  const bytes = reader.bytes();
  return bytes.length > LONGEST_TEXT ? undefined : decoder.decode(bytes);
}

const hexIn = (reader: BinaryReader): string => Buffer.from(reader.bytes()).toString("hex");

/** The messages in one repeated field. They share the memory of the whole. */
function* messages(bytes: Uint8Array, wanted: number): Generator<Uint8Array> {
  const reader = new BinaryReader(bytes);
  while (reader.pos < reader.len) {
    const [field, wireType] = reader.tag();
    if (field === wanted && wireType === WireType.LengthDelimited) yield reader.bytes();
    else reader.skip(wireType, field);
  }
}

/** @param take reads the field, or returns false to skip it */
function eachField(bytes: Uint8Array, take: (field: number, reader: BinaryReader) => boolean): void {
  const reader = new BinaryReader(bytes);
  while (reader.pos < reader.len) {
    const [field, wireType] = reader.tag();
    if (!take(field, reader)) reader.skip(wireType, field);
  }
}
