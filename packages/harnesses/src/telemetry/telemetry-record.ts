import type { SentPrompt } from "./prompt.ts";

/** A scalar attribute. Null stands for a list (but see `isListOfAnswers`), a map, bytes, or a text that is too long to be a name or a number. */
export type AttributeValue = string | number | boolean | null;
export type Attributes = ReadonlyMap<string, AttributeValue>;

/** Longest text that is decoded, in bytes. Longer ones are prompts, which `SentPrompt` measures, and outputs. */
export const LONGEST_TEXT = 4_096;
/** Attributes whose text is JSON with the counts of a call in it. Nothing else of it is kept. */
const JSON_WITH_COUNTS = new Set([
  "genkit:output",
  "ai.response.providerMetadata",
  "langfuse.observation.usage_details",
]);
const LONGEST_JSON = 256 * 1_024;

/** Most bytes of an attribute's text. */
export const longestText = (key: string): number => (JSON_WITH_COUNTS.has(key) ? LONGEST_JSON : LONGEST_TEXT);

/** Whether the first text of a list stands for it: it has a word for each answer of a call. */
export const isListOfAnswers = (key: string): boolean => key.endsWith("finish_reasons");

/** Attributes of one record, and events of one span, that are read; OpenTelemetry's own limit is 128. */
export const MOST_ATTRIBUTES = 1_000;
export const MOST_EVENTS = 1_000;

/** What emitted a record. */
export interface TelemetryOrigin {
  resource: Attributes;
  /** Name of the instrumentation scope; empty if there is none. */
  scope: string;
}

/** An event of a span, such as a compaction. */
export interface SpanEvent {
  name: string;
  /** Epoch ms. */
  at: number;
  attributes: Attributes;
}

/** Ids are lower-case hexadecimal and empty if missing. Times are epoch ms, and 0 if missing. */
export interface SpanRecord extends TelemetryOrigin {
  signal: "traces";
  name: string;
  traceId: string;
  spanId: string;
  parentSpanId: string;
  startAt: number;
  endAt: number;
  /** Whether its status is an error. */
  failed: boolean;
  attributes: Attributes;
  events: readonly SpanEvent[];
  /** Undefined if the span has none, or lost attributes. To be read before the next record. */
  prompt?: SentPrompt | undefined;
}

export interface LogRecord extends TelemetryOrigin {
  signal: "logs";
  /** The event's name: its field, else the attribute `event.name`, else a body that is a name. Empty if unknown. */
  name: string;
  traceId: string;
  spanId: string;
  /** Epoch ms. */
  at: number;
  attributes: Attributes;
  /** As that of a span. */
  prompt?: SentPrompt | undefined;
}

export interface MetricRecord extends TelemetryOrigin {
  signal: "metrics";
  name: string;
  /** Data points of the metric. */
  points: number;
  /** Of its first data point. */
  attributes: Attributes;
}

export type TelemetryRecord = SpanRecord | LogRecord | MetricRecord;

/** A record that was not read, and why: a sentence. */
export interface UnreadableRecord {
  unreadable: string;
}

/** The code of a span's status that says that it failed. */
export const STATUS_ERROR = 2;

const NAME = /^[\w.-]{1,128}$/;

/** See `LogRecord.name`. */
export function eventName(field: string, attributes: Attributes, body: AttributeValue): string {
  if (field !== "") return field;
  const named = attributes.get("event.name");
  if (typeof named === "string") return named;
  return typeof body === "string" && NAME.test(body) ? body : "";
}

const NS_PER_MS = 1_000_000n;

/** @returns epoch ms; 0 if the time is missing or no whole number */
export function nanosecondsToMs(ns: unknown): number {
  if (typeof ns === "bigint") return Number(ns / NS_PER_MS);
  if (typeof ns === "number") return Number.isSafeInteger(ns) ? Math.floor(ns / 1e6) : ms(String(ns));
  return typeof ns === "string" ? ms(ns) : 0;
}

function ms(text: string): number {
  return /^\d{1,20}$/.test(text) ? Number(BigInt(text) / NS_PER_MS) : 0;
}
