import type { FleetAgent } from "@plimsoll/protocol";
import { levelState } from "../charts/level.ts";

/** Rows shown of a large fleet, so that the charts below fit on the first screen. */
export const COLLAPSED_ROWS = 8;
/** Fleets up to this size are shown in full: a button is not worth it for two rows. */
export const COLLAPSE_ABOVE = 10;

export interface VisibleAgents {
  shown: readonly FleetAgent[];
  /** Number of rows left out. */
  hidden: number;
  /** Number of those over their line. */
  hiddenOver: number;
}

/**
 * The rows to show of agents sorted by load. `focused` is the ID of the agent with keyboard focus: its row stays
 * when others overtake it, so that the focus is not lost.
 */
export function visibleAgents(
  agents: readonly FleetAgent[],
  all: boolean,
  focused: string | null,
): VisibleAgents {
  if (all || agents.length <= COLLAPSE_ABOVE) return { shown: agents, hidden: 0, hiddenOver: 0 };
  const isShown = (agent: FleetAgent, index: number) => index < COLLAPSED_ROWS || agent.id === focused;
  const hiddenAgents = agents.filter((agent, index) => !isShown(agent, index));
  return {
    shown: agents.filter(isShown),
    hidden: hiddenAgents.length,
    hiddenOver: hiddenAgents.filter((agent) => levelState(agent) === "over").length,
  };
}
