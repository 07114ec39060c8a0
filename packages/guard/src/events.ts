import type { PlimsollEventInput } from "@plimsoll/protocol/pure";

/** Who an event is about. */
export interface Identity {
  /** The harness instance, such as `phantom@vm-3`. */
  harness: string;
  /** The logical session; survives restarts and sub-ticks. */
  session: string;
  /** Owner of the window; `main` unless said. */
  agent?: string | undefined;
  parentAgent?: string | undefined;
}

type Envelope = "harness" | "session" | "agent" | "parent_agent" | "at" | "id" | "window";
/** What is specific to one event: its type and fields, without the envelope. */
export type EventBody = PlimsollEventInput extends infer E
  ? E extends PlimsollEventInput
    ? Omit<E, Envelope> & { id?: string }
    : never
  : never;

/**
 * Completes an event. The id is made of time and place in the session, so that a replay makes the same one and two
 * runs of a process do not clash.
 */
export function eventOf(
  identity: Identity,
  at: number,
  window: number | undefined,
  number: number,
  body: EventBody,
): PlimsollEventInput {
  return {
    ...body,
    id: body.id ?? `${body.type}-${at.toString(36)}-${number.toString(36)}`,
    at,
    harness: identity.harness,
    session: identity.session,
    agent: identity.agent ?? "main",
    ...(identity.parentAgent === undefined ? {} : { parent_agent: identity.parentAgent }),
    ...(window === undefined ? {} : { window }),
  } as PlimsollEventInput;
}
