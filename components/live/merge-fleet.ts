import type { FleetAgent, FleetPart, FleetView, LiveMessage } from "@plimsoll/protocol";

/**
 * The sessions a few messages name, when asking for these alone is worth it; null when too many changed, or when a
 * message does not say which.
 */
export function namedSessions(messages: readonly LiveMessage[], most: number): string[] | null {
  const named = new Set<string>();
  for (const { sessions } of messages) {
    if (sessions === null) return null;
    for (const id of sessions) named.add(id);
    if (named.size > most) return null;
  }
  return named.size === 0 ? null : [...named];
}

/**
 * A fleet with the rows of some sessions as they are now. Null when that cannot be told from these rows: the view did
 * not show every live agent, would show too many, or another agent has come or gone unheard.
 */
export function mergeFleetPart(
  view: FleetView,
  part: FleetPart,
  sessions: readonly string[],
  most: number,
): FleetView | null {
  const asked = new Set(sessions);
  // Those just heard from come first among equals, as in the answer to the whole question.
  const agents = [...part.agents, ...view.agents.filter((agent) => !asked.has(agent.session_id))];
  if (view.more > 0 || agents.length > most || agents.length !== part.live) return null;
  return { generated_at: part.generated_at, agents: agents.sort(byLoad), more: 0 };
}

/** Highest first; agents without a line come last. */
function byLoad(a: FleetAgent, b: FleetAgent): number {
  return (b.load ?? -1) - (a.load ?? -1);
}
