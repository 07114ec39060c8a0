import type { FleetAgent } from "@plimsoll/protocol/api";

/** Milliseconds without activity after which a live agent is silent. The server sorts by the same time. */
export const SILENT_AFTER = 10 * 60_000;

/** @param now epoch ms */
export function isSilent({ active_at }: Pick<FleetAgent, "active_at">, now: number): boolean {
  return Date.parse(active_at) <= now - SILENT_AFTER;
}

/**
 * Highest load first, then agents without a load. Agents with a suspect window follow, because their load is wrong, then
 * silent ones. Keeps the order of equals.
 */
export function sortFleet(agents: readonly FleetAgent[], now: number): FleetAgent[] {
  const group = (agent: FleetAgent) => (isSilent(agent, now) ? 2 : agent.window_suspect ? 1 : 0);
  return agents.toSorted((a, b) => group(a) - group(b) || (b.load ?? -1) - (a.load ?? -1));
}
