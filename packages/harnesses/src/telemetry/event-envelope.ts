import { LONGEST } from "@plimsoll/protocol/events";
import { fitName } from "../recordings/text.ts";
import { textOf } from "./attributes.ts";
import type { Attributes } from "./telemetry-record.ts";

/** A harness instance, such as `claude-code@laptop`: set by the user, else the family and the host. */
export function harnessName(resource: Attributes, family: string): string {
  const own = textOf(resource, ["plimsoll.harness"]);
  const host = textOf(resource, ["host.name"]);
  return fitName(own ?? (host === undefined ? family : `${family}@${host}`), LONGEST.harness);
}

const UNNAMED_SERVICE = /^unknown_service\b/;

/** The family of an instrumented program: its service name, without what would name an instance. */
export function serviceFamily(resource: Attributes, fallback: string): string {
  const service = textOf(resource, ["service.name"]);
  if (service === undefined || UNNAMED_SERVICE.test(service)) return fallback;
  return service.replaceAll("@", "-");
}

export interface EventOwner {
  harness: string;
  session: string;
  /** Undefined for the main agent. */
  agent?: string | undefined;
  parent?: string | undefined;
  /** Of a sub-agent that the harness runs as a session. */
  ownSession?: string | undefined;
}

/** A sub-agent that its harness runs as a session, in the session that started it. Recordings have the same name for it. */
export function subAgentOf(parentSession: string, ownSession: string): Omit<EventOwner, "harness"> {
  return { session: parentSession, agent: `agent-${ownSession}`, parent: "main", ownSession };
}

/** The fields that all events share. */
export function eventEnvelope(owner: EventOwner, id: string, at: number) {
  const { harness, session, agent, parent, ownSession } = owner;
  return {
    id: fitName(id, LONGEST.id),
    at,
    harness,
    session: fitName(session, LONGEST.session),
    agent: agent === undefined ? undefined : fitName(agent, LONGEST.agent),
    parent_agent: parent === undefined ? undefined : fitName(parent, LONGEST.agent),
    own_session: ownSession === undefined ? undefined : fitName(ownSession, LONGEST.session),
  };
}
