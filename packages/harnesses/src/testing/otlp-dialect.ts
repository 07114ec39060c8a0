import { type PlimsollEventInput, parseEvent } from "@plimsoll/protocol/events";
import { expect } from "vitest";
import { readRecord } from "../telemetry.ts";
import { type LogSample, logSample, type SpanSample, spanSample } from "./otlp.ts";

/** Expects that a sample becomes these events of a dialect, and that the server would take them. */
export function expectEvents(dialect: string, sample: Sample, events: object[]): void {
  const read = readRecord(recordOf(sample));
  expect(read).toMatchObject({ dialect, reading: { events } });
  expect(read.reading.events).toHaveLength(events.length);
  for (const event of read.reading.events ?? []) expect(parseEvent(event)).toMatchObject({ ok: true });
}

/** Expects that a sample becomes no event, for this reason. */
export function expectNone(dialect: string, sample: Sample, reason: string): void {
  expect(readRecord(recordOf(sample))).toEqual({ dialect, reading: { reason } });
}

/** The only event of a sample. */
export function eventOf(sample: Sample): PlimsollEventInput {
  const { events } = readRecord(recordOf(sample)).reading;
  expect(events).toHaveLength(1);
  return events![0]!;
}

type Sample = { span: SpanSample } | { log: LogSample };

const recordOf = (sample: Sample) => ("span" in sample ? spanSample(sample.span) : logSample(sample.log));
