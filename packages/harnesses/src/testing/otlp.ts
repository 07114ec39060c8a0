import type { LogRecord, SpanRecord } from "../telemetry/telemetry-record.ts";

/** Attributes as a sample writes them: true types, or texts for numbers as older exporters send them. */
export type SampleAttributes = Record<string, string | number | boolean>;

/** A time in every default range, in epoch ms. */
export const SAMPLE_AT = Date.UTC(2026, 10, 20, 10);

export interface SpanSample {
  resource?: SampleAttributes;
  scope?: string;
  name?: string;
  traceId?: string;
  spanId?: string;
  parentSpanId?: string;
  startAt?: number;
  endAt?: number;
  failed?: boolean;
  attributes?: SampleAttributes;
  events?: { name: string; at?: number; attributes?: SampleAttributes }[];
}

export function spanSample(sample: SpanSample): SpanRecord {
  const { endAt = SAMPLE_AT, startAt = endAt - 4_200 } = sample;
  return {
    signal: "traces",
    resource: mapOf(sample.resource),
    scope: sample.scope ?? "",
    name: sample.name ?? "",
    traceId: sample.traceId ?? "0af7651916cd43dd8448eb211c80319c",
    spanId: sample.spanId ?? "b7ad6b7169203331",
    parentSpanId: sample.parentSpanId ?? "",
    startAt,
    endAt,
    failed: sample.failed ?? false,
    attributes: mapOf(sample.attributes),
    events: (sample.events ?? []).map(({ name, at = endAt - 1_000, attributes }) => ({
      name,
      at,
      attributes: mapOf(attributes),
    })),
  };
}

export interface LogSample {
  resource?: SampleAttributes;
  scope?: string;
  name: string;
  at?: number;
  attributes?: SampleAttributes;
}

export function logSample(sample: LogSample): LogRecord {
  return {
    signal: "logs",
    resource: mapOf(sample.resource),
    scope: sample.scope ?? "",
    name: sample.name,
    traceId: "",
    spanId: "",
    at: sample.at ?? SAMPLE_AT,
    attributes: mapOf(sample.attributes),
  };
}

const mapOf = (attributes: SampleAttributes = {}) => new Map(Object.entries(attributes));
