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
import type { TelemetrySignal } from "@plimsoll/protocol/api";
import { BODY_LIMITS, type BodyBudget, overLimit } from "../../../bodies/body-budget.ts";
import { PlimsollError } from "../../../errors.ts";
import { PromptAttributes, type PromptHolder } from "./prompt-attributes.ts";
import { type ByteRange, OversizedMessage, ProtobufReader } from "./protobuf-reader.ts";
import { MOST_GROUPS, tooManyGroups } from "./record-limit.ts";

/**
 * Reads an OTLP export request one record at a time and builds no tree of objects. Yields undefined where there is no
 * record, so that the work can pause there too. Field numbers are those of opentelemetry-proto 1.x; other fields are
 * skipped.
 * @throws PlimsollError `bad_request` if the bytes are not protobuf, `too_large` for too many fields, resources or scopes
 */
export function* decodeProtobuf(
  bytes: Uint8Array,
  signal: TelemetrySignal,
  budget: BodyBudget,
): Generator<TelemetryRecord | UnreadableRecord | undefined, void> {
  const reader = new ProtobufReader(bytes, budget);
  let groups = 0;
  const countGroup = () => {
    groups += 1;
    if (groups > MOST_GROUPS) throw tooManyGroups();
  };
  try {
    for (const entry of reader.messages(reader.whole, 1)) {
      if (entry !== undefined) yield* recordsOf(reader, entry, signal, countGroup);
      else yield;
    }
  } catch (cause) {
    if (cause instanceof PlimsollError) throw cause;
    if (cause instanceof OversizedMessage)
      throw overLimit(`A resource or scope is too large. ${cause.message}`, BODY_LIMITS.fields, "fields");
    throw new PlimsollError("bad_request", "The body is not an OTLP export request in protobuf.", { cause });
  }
}

const READERS = { traces: spanOf, logs: logOf, metrics: metricOf };

/** Reads what one resource sent: its records, below their scopes. */
function* recordsOf(
  reader: ProtobufReader,
  entry: ByteRange,
  signal: TelemetrySignal,
  countGroup: () => void,
): Generator<TelemetryRecord | UnreadableRecord | undefined, void> {
  countGroup();
  let resource: Attributes = new Map();
  for (const found of reader.messages(entry, 1)) {
    if (found !== undefined) resource = resourceOf(reader, found);
    yield;
  }
  const read = READERS[signal];
  for (const group of reader.messages(entry, 2)) {
    yield;
    if (group === undefined) continue;
    countGroup();
    let scope = "";
    for (const found of reader.messages(group, 1)) {
      if (found !== undefined) scope = scopeName(reader, found);
      yield;
    }
    const origin = { resource, scope };
    for (const record of reader.messages(group, 2))
      yield record && recordOf(() => read(reader, record, origin));
  }
}

function recordOf(read: () => TelemetryRecord): TelemetryRecord | UnreadableRecord {
  try {
    return read();
  } catch (error) {
    if (error instanceof OversizedMessage) return { unreadable: error.message };
    throw error;
  }
}

function resourceOf(reader: ProtobufReader, range: ByteRange): Attributes {
  const attributes = new Map<string, AttributeValue>();
  reader.read(range, (field) => field === 1 && addAttribute(reader, attributes));
  return attributes;
}

function scopeName(reader: ProtobufReader, range: ByteRange): string {
  let name = "";
  reader.read(range, (field) => {
    if (field !== 1) return false;
    name = textIn(reader) ?? "";
    return true;
  });
  return name;
}

function spanOf(reader: ProtobufReader, range: ByteRange, origin: TelemetryOrigin): SpanRecord {
  const attributes = new Map<string, AttributeValue>();
  const events: SpanEvent[] = [];
  // Spread, the origin takes V8 twice as long as all the rest of a span.
  const span: SpanRecord & PromptHolder = {
    resource: origin.resource,
    scope: origin.scope,
    signal: "traces",
    name: "",
    traceId: "",
    spanId: "",
    parentSpanId: "",
    startAt: 0,
    endAt: 0,
    failed: false,
    attributes,
    events,
    prompt: undefined,
  };
  let isCut = false;
  reader.read(range, (field) => {
    if (field === 1) span.traceId = reader.hex();
    else if (field === 2) span.spanId = reader.hex();
    else if (field === 4) span.parentSpanId = reader.hex();
    else if (field === 5) span.name = textIn(reader) ?? "";
    else if (field === 7) span.startAt = nanosecondsToMs(reader.fixed64());
    else if (field === 8) span.endAt = nanosecondsToMs(reader.fixed64());
    else if (field === 9) return addAttribute(reader, attributes, span);
    else if (field === 10) isCut = reader.int32() !== 0;
    else if (field === 11 && events.length < MOST_EVENTS) events.push(spanEvent(reader, span));
    else if (field === 15) span.failed = isError(reader);
    else return false;
    return true;
  });
  if (isCut || attributes.size >= MOST_ATTRIBUTES || span.prompt?.isTooLarge) span.prompt = undefined;
  return span;
}

/** Reads a Status. */
function isError(reader: ProtobufReader): boolean {
  let code = 0;
  reader.nested((field) => {
    if (field !== 3) return false;
    code = reader.int32();
    return true;
  });
  return code === STATUS_ERROR;
}

function spanEvent(reader: ProtobufReader, span: PromptHolder): SpanEvent {
  const attributes = new Map<string, AttributeValue>();
  const event = { name: "", at: 0, attributes };
  reader.nested((field) => {
    if (field === 1) event.at = nanosecondsToMs(reader.fixed64());
    else if (field === 2) event.name = textIn(reader) ?? "";
    else if (field === 3) return addAttribute(reader, attributes, span);
    else return false;
    return true;
  });
  return event;
}

function logOf(reader: ProtobufReader, range: ByteRange, origin: TelemetryOrigin): LogRecord {
  const attributes = new Map<string, AttributeValue>();
  let at = 0;
  let observedAt = 0;
  let body: AttributeValue = null;
  let traceId = "";
  let spanId = "";
  let name = "";
  const holder: PromptHolder = { prompt: undefined };
  let isCut = false;
  reader.read(range, (field) => {
    if (field === 1) at = nanosecondsToMs(reader.fixed64());
    else if (field === 5) body = valueIn(reader);
    else if (field === 6) return addAttribute(reader, attributes, holder);
    else if (field === 7) isCut = reader.int32() !== 0;
    else if (field === 9) traceId = reader.hex();
    else if (field === 10) spanId = reader.hex();
    else if (field === 11) observedAt = nanosecondsToMs(reader.fixed64());
    else if (field === 12) name = textIn(reader) ?? "";
    else return false;
    return true;
  });
  if (isCut || attributes.size >= MOST_ATTRIBUTES || holder.prompt?.isTooLarge) holder.prompt = undefined;
  return {
    resource: origin.resource,
    scope: origin.scope,
    signal: "logs",
    name: eventName(name, attributes, body),
    traceId,
    spanId,
    at: at || observedAt,
    attributes,
    prompt: holder.prompt,
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

function metricOf(reader: ProtobufReader, range: ByteRange, origin: TelemetryOrigin): MetricRecord {
  const attributes = new Map<string, AttributeValue>();
  let name = "";
  let points = 0;
  /** Reads a list of points, and the attributes of the first. */
  const pointsIn = (attributeField: number) =>
    reader.nested((field) => {
      if (field !== 1) return false;
      points += 1;
      if (points > 1) return false;
      reader.nested((one) => one === attributeField && addAttribute(reader, attributes));
      return true;
    });
  reader.read(range, (field) => {
    const attributeField = POINTS.get(field);
    if (field === 1) name = textIn(reader) ?? "";
    else if (attributeField !== undefined) pointsIn(attributeField);
    else return false;
    return true;
  });
  return { resource: origin.resource, scope: origin.scope, signal: "metrics", name, points, attributes };
}

/** Reads a KeyValue. Returns false, and leaves it to be skipped, if there are as many as are read. */
function addAttribute(
  reader: ProtobufReader,
  attributes: Map<string, AttributeValue>,
  holder?: PromptHolder,
): boolean {
  if (attributes.size >= MOST_ATTRIBUTES) return false;
  let key = "";
  let value: AttributeValue = null;
  reader.nested((field) => {
    if (field === 1) key = textIn(reader) ?? "";
    else if (field === 2) {
      if (holder !== undefined && isOfPrompt(key)) {
        const range = reader.ahead();
        holder.prompt ??= new PromptAttributes();
        holder.prompt.add(key, range.to - range.from, () =>
          reader.within(range, () => plainValue(reader, 0)),
        );
      }
      value = valueIn(reader, longestText(key), isListOfAnswers(key));
    } else return false;
    return true;
  });
  if (key !== "") attributes.set(key, value);
  return true;
}

/** Levels of a structured prompt that are read. */
const DEEPEST = 64;

/** Reads an AnyValue, with lists and maps as JSON has them. */
function plainValue(reader: ProtobufReader, depth: number): unknown {
  if (depth > DEEPEST) throw new RangeError(`A prompt nests more than ${DEEPEST} deep.`);
  let value: unknown;
  reader.nested((field) => {
    if (field === 1) value = reader.text(Number.POSITIVE_INFINITY);
    else if (field === 2) value = reader.bool();
    else if (field === 3) value = reader.int64();
    else if (field === 4) value = reader.double();
    else if (field === 5) {
      const list: unknown[] = [];
      reader.nested((item) => item === 1 && list.push(plainValue(reader, depth + 1)) > 0);
      value = list;
    } else if (field === 6) {
      const pairs: [string, unknown][] = [];
      reader.nested((item) => item === 1 && pairs.push(plainPair(reader, depth + 1)) > 0);
      value = Object.fromEntries(pairs);
    } else return false;
    return true;
  });
  return value;
}

function plainPair(reader: ProtobufReader, depth: number): [string, unknown] {
  let key = "";
  let value: unknown;
  reader.nested((field) => {
    if (field === 1) key = textIn(reader) ?? "";
    else if (field === 2) value = plainValue(reader, depth);
    else return false;
    return true;
  });
  return [key, value];
}

/** Reads an AnyValue. */
function valueIn(reader: ProtobufReader, longest = LONGEST_TEXT, isOfAnswers = false): AttributeValue {
  let value: AttributeValue = null;
  reader.nested((field) => {
    if (field === 1) value = reader.text(longest) ?? null;
    else if (field === 2) value = reader.bool();
    else if (field === 3) value = reader.int64();
    else if (field === 4) value = reader.double();
    else if (field === 5 && isOfAnswers)
      reader.nested((item) => {
        if (item !== 1 || value !== null) return false;
        value = valueIn(reader);
        return true;
      });
    else return false;
    return true;
  });
  return value;
}

/** @returns undefined if the text is longer than `LONGEST_TEXT` */
const textIn = (reader: ProtobufReader): string | undefined => reader.text(LONGEST_TEXT);
