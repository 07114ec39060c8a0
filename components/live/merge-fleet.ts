import type { ChangedMessage, FleetPart, FleetView } from "@plimsoll/protocol/api";
import { sortFleet } from "@plimsoll/protocol/pure";
import { replaceEqualDeep } from "@tanstack/react-query";

/** The sessions named by these messages; null if there are none, more than `most`, or a message names none. */
export function namedSessions(messages: readonly ChangedMessage[], most: number): string[] | null {
  const named = new Set<string>();
  for (const { sessions } of messages) {
    if (sessions === null) return null;
    for (const id of sessions) named.add(id);
    if (named.size > most) return null;
  }
  return named.size === 0 ? null : [...named];
}

/**
 * Replaces the rows of some sessions in a fleet. Returns null if the result may be incomplete: the view was
 * truncated, would exceed `most` rows, or the number of live agents does not match.
 */
export function mergeFleetPart(
  view: FleetView,
  part: FleetPart,
  sessions: readonly string[],
  most: number,
): FleetView | null {
  const updated = new Set(sessions);
  // Updated agents come first among equal loads, as in the full query.
  const agents = [...part.agents, ...view.agents.filter((agent) => !updated.has(agent.session_id))];
  if (view.more > 0 || agents.length > most || agents.length !== part.live) return null;
  return {
    generated_at: part.generated_at,
    agents: sortFleet(agents, "load", Date.parse(part.generated_at)),
    more: 0,
  };
}

const isFleet = (value: unknown): value is FleetView =>
  typeof value === "object" && value !== null && "agents" in value;

/**
 * The `structuralSharing` of a fleet's query: the newer fleet, with the objects of the older one for agents that have not changed, so
 * that React skips their rows. TanStack Query would compare agents by their place in the list, and each turn moves some.
 * It also calls this with what a `select` made of both.
 */
export function shareAgents(before: unknown, after: unknown): unknown {
  if (!isFleet(after)) return replaceEqualDeep(before, after);
  const older = isFleet(before) ? before.agents : [];
  const known = new Map(older.map((agent) => [agent.id, agent]));
  const agents = after.agents.map((agent) => replaceEqualDeep(known.get(agent.id), agent));
  const isSame = agents.length === older.length && agents.every((agent, place) => agent === older[place]);
  // An equal answer is the older one. The rows would render again with each look at an answer that is only a placeholder.
  return isSame ? replaceEqualDeep(before, { ...after, agents: older }) : { ...after, agents };
}
