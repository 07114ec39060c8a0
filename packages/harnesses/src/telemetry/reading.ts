import type { UnmappedReason } from "@plimsoll/protocol/api";
import type { PlimsollEventInput } from "@plimsoll/protocol/events";
import type { LogRecord, SpanRecord, TelemetryRecord } from "./telemetry-record.ts";

/** Why a record became no event, besides the reasons that somebody can change. */
const EXPECTED_REASONS = [
  /** A kind of record that says nothing of a context window, such as a tool call. */
  "not_needed",
  /** Counts are totals over several model calls. */
  "aggregate",
  /** Another record of the same harness reports the same call. */
  "reported_elsewhere",
  /** A model call beside the conversation, such as one that writes a title. */
  "auxiliary",
] as const;
export type NoEventReason = UnmappedReason | (typeof EXPECTED_REASONS)[number];

/** Whether somebody should hear of records that became no event for this reason. */
export function isUnmapped(reason: NoEventReason): reason is UnmappedReason {
  return !(EXPECTED_REASONS as readonly string[]).includes(reason);
}

/** What became of one record: events, or the reason why there are none. */
export type RecordReading =
  | { events: PlimsollEventInput[]; reason?: undefined }
  | { events?: undefined; reason: NoEventReason };

export const noEvent = (reason: NoEventReason): RecordReading => ({ reason });

/** How one harness or library names things. */
export interface TelemetryDialect {
  /** Also the family of harnesses that have no better name. */
  name: string;
  /** Whether a record is of this dialect. Asked in the order of `DIALECTS`. */
  speaks: (record: TelemetryRecord) => boolean;
  /** Depends on nothing but the record, so that order and repetition cannot change the result. */
  read: (record: SpanRecord | LogRecord) => RecordReading;
}
