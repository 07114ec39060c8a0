import { z } from "zod";

/** Signals of OpenTelemetry that the server takes. */
export const TELEMETRY_SIGNALS = ["traces", "logs", "metrics"] as const;
export type TelemetrySignal = (typeof TELEMETRY_SIGNALS)[number];

/** Why telemetry became no event, as far as somebody can change that. */
export const UNMAPPED_REASONS = [
  "unknown_dialect",
  "metric",
  "no_usage",
  "no_session",
  "no_agent",
  "no_time",
] as const;
export type UnmappedReason = (typeof UNMAPPED_REASONS)[number];

/** Records of one source that became no event for one reason. */
export const UnmappedTelemetry = z.object({
  signal: z.enum(TELEMETRY_SIGNALS),
  /** The resource attribute `service.name`; empty if the sender names none. */
  service: z.string(),
  /** Name of the instrumentation scope; empty if there is none. */
  scope: z.string(),
  /** Name of the log event or metric; empty for spans, whose names can hold content. */
  name: z.string(),
  reason: z.enum(UNMAPPED_REASONS),
  /** The dialect that recognized the records, or `mapping:` and the name of a mapping; null if none did. */
  dialect: z.string().nullable(),
  /** Names of the attributes of the newest record. Values are never stored. */
  attributes: z.array(z.string()),
  /** True if an attribute is named like a count of tokens: then a mapping could read these records. */
  counts_tokens: z.boolean(),
  /** Name of the mapping that reads such records, as far as names tell; null if none does. */
  mapped_by: z.string().nullable(),
  /** Spans, log records or data points. */
  count: z.number().int(),
  first_at: z.string(),
  last_at: z.string(),
});
export type UnmappedTelemetry = z.infer<typeof UnmappedTelemetry>;

/** The newest 50 sources, most recent first. */
export const UnmappedTelemetryList = z.object({ sources: z.array(UnmappedTelemetry) });
export type UnmappedTelemetryList = z.infer<typeof UnmappedTelemetryList>;
