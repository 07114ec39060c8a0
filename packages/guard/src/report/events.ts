import type { PlimsollEventInput } from "@plimsoll/protocol/pure";

/** The agent that an event belongs to. */
export interface Identity {
  /** The harness instance, such as `phantom@vm-3`. */
  harness: string;
  /** The logical session. It stays the same across restarts and sub-ticks. */
  session: string;
  /** The agent that owns the window. Default: `main`. */
  agent?: string | undefined;
  /** The agent that started this one, if it is a sub-agent. */
  parentAgent?: string | undefined;
}

type Envelope = "harness" | "session" | "agent" | "parent_agent" | "at" | "id" | "window";
/** An event's type and own fields, without the envelope. */
export type EventBody = PlimsollEventInput extends infer E
  ? E extends PlimsollEventInput
    ? Omit<E, Envelope> & { id?: string }
    : never
  : never;

/**
 * Adds the envelope to an event. The id combines time and sequence number, so a replay produces the same id and two
 * runs of a process do not collide.
 * @example
 * const body: EventBody = { type: "cleared", tokens_before: 30_000, tokens_after: 2_000, reason: "new task" };
 * reporter.record(eventOf({ harness: "my-bot@host-1", session: "thread-91" }, Date.now(), 0, 1, body));
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
