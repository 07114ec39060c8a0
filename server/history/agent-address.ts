import { DEFAULT_AGENT, type TurnEvent } from "@plimsoll/protocol";
import { agentId, sessionId } from "./identity.ts";

/** Where an agent appears. */
export interface AgentAddress {
  sessionId: string;
  name: string;
  /** The id of the session that its harness runs it as; undefined while nothing said that it is a sub-agent. */
  ownSession: string | undefined;
}

/** An event of a session's agent. */
type AgentEvent = Pick<TurnEvent, "harness" | "session" | "agent" | "own_session">;

/**
 * The session that the harness runs an event's agent as. A main agent is its session's already, and a session is no
 * sub-agent of itself.
 */
export function ownSessionOf({ session, agent, own_session }: Partial<AgentEvent>): string | undefined {
  return agent === DEFAULT_AGENT || own_session === session ? undefined : own_session;
}

/**
 * Who an event is of, and where that one appears. The main agent of a session, and the sub-agent that the session is, are
 * one: some sources know only the session.
 */
export function identityOf(projectId: number, event: AgentEvent): AgentAddress & { id: string } {
  const { harness, session, agent: name } = event;
  const own = ownSessionOf(event);
  return {
    id:
      own === undefined
        ? agentId(projectId, harness, session, name)
        : agentId(projectId, harness, own, DEFAULT_AGENT),
    sessionId: sessionId(projectId, harness, session),
    name,
    ownSession: own === undefined ? undefined : sessionId(projectId, harness, own),
  };
}

/** Of two addresses of one agent: that as a sub-agent; of two such, the smaller. The order of arrival does not matter. */
export function preferredAddress<Address extends AgentAddress>(a: Address, b: Address): Address {
  if ((a.ownSession === undefined) !== (b.ownSession === undefined))
    return a.ownSession === undefined ? b : a;
  return textOf(a) <= textOf(b) ? a : b;
}

export function isSameAddress(a: AgentAddress, b: AgentAddress): boolean {
  return a.sessionId === b.sessionId && a.name === b.name && a.ownSession === b.ownSession;
}

const textOf = ({ sessionId, name }: AgentAddress): string => `${sessionId}/${name}`;
