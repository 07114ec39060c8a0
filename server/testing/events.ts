import { type PlimsollEvent, parseEvent } from "@plimsoll/protocol/events";

/** The time that `at` of these events is counted from. Epoch ms. */
export const EVENTS_START = Date.UTC(2026, 10, 20, 10);

/** An event as the write path reads it; `at` in ms after `EVENTS_START`. Throws for an event that would be rejected. */
export function parsedEvent({
  at = 1_000,
  ...event
}: Record<string, unknown> & { at?: number }): PlimsollEvent {
  const parsed = parseEvent({ harness: "h", session: "s", ...event, at: EVENTS_START + at });
  if (!parsed.ok) throw new Error(`${parsed.rejection.path} ${parsed.rejection.message}`);
  return parsed.event;
}
