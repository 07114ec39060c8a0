import { DEFAULT_AGENT, type TurnEvent } from "@plimsoll/protocol/events";
import { agentId, sessionId } from "../../db/tables/identity.ts";

/** Where an agent appears. */
export interface AgentAddress {
  sessionId: string;
  name: string;
  parent: string | undefined;
  /** The id of the session that its harness runs it as; undefined while nothing said that it is a sub-agent. */
  ownSession: string | undefined;
}

/** An event of a session's agent. */
type AgentEvent = Pick<TurnEvent, "harness" | "session" | "agent" | "parent_agent" | "own_session">;

/**
 * The session that the harness runs an event's agent as. A main agent is its session's already, and a session is no
 * sub-agent of itself.
 */
export function ownSessionOf({ session, agent, own_session }: Partial<AgentEvent>): string | undefined {
  return agent === DEFAULT_AGENT || own_session === session ? undefined : own_session;
}

/**
 * The id of the agent of an event, and the address that the event gives it. The main agent of a session and the sub-agent that the
 * session is run for are one agent, because some sources know only the session.
 */
export function identityOf(projectId: number, event: AgentEvent): AgentAddress & { id: string } {
  const { harness, session, agent: name, parent_agent: parent } = event;
  const own = ownSessionOf(event);
  return {
    id:
      own === undefined
        ? agentId(projectId, harness, session, name)
        : agentId(projectId, harness, own, DEFAULT_AGENT),
    sessionId: sessionId(projectId, harness, session),
    name,
    parent,
    ownSession: own === undefined ? undefined : sessionId(projectId, harness, own),
  };
}

/**
 * The address as a sub-agent; of two such, the one whose parent is a sub-agent, because a source that knows only the direct parent
 * takes that parent for the root; otherwise the smaller. The order of arrival does not matter. As a main agent, an agent has one
 * address.
 */
export function preferredAddress(a: AgentAddress, b: AgentAddress): AgentAddress {
  const [rankA, rankB] = [rankOf(a), rankOf(b)];
  if (rankA !== rankB) return rankA < rankB ? a : b;
  return textOf(a) <= textOf(b) ? a : b;
}

function rankOf({ ownSession, parent }: AgentAddress): number {
  if (ownSession === undefined) return 2;
  return Number(parent === undefined || parent === DEFAULT_AGENT);
}

const textOf = ({ sessionId, name, parent }: AgentAddress): string =>
  JSON.stringify([sessionId, name, parent]);

/** The smaller of two names that may be absent. */
export function smallerName(a: string | undefined, b: string | undefined): string | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return a < b ? a : b;
}
