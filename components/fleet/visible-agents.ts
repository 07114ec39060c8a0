import type { FleetAgent } from "@plimsoll/protocol/api";
import { isPastLine, levelState } from "../charts/level.ts";

/** Rows shown of a large fleet, so that the charts below fit on the first screen. */
export const COLLAPSED_ROWS = 8;
/** The same on very wide screens, which show the charts next to the agents. */
export const COLLAPSED_ROWS_WIDE = 16;
/** Rows beyond those that are shown all the same: a button is not worth it for two rows. */
const SPARE_ROWS = 2;

export interface VisibleAgents {
  /** Whether the fleet has more rows than are shown at first. */
  collapsible: boolean;
  shown: readonly FleetAgent[];
  /** Number of rows left out. */
  hidden: number;
  /** Number of those over their line. */
  hiddenOver: number;
}

/**
 * The rows to show of sorted agents, `rows` of a large fleet. `focused` is the ID of the agent with keyboard focus: its row stays
 * when others overtake it, so that the focus is not lost.
 */
export function visibleAgents(
  agents: readonly FleetAgent[],
  all: boolean,
  focused: string | null,
  rows = COLLAPSED_ROWS,
): VisibleAgents {
  const collapsible = agents.length > rows + SPARE_ROWS;
  if (all || !collapsible) return { collapsible, shown: agents, hidden: 0, hiddenOver: 0 };
  const isShown = (agent: FleetAgent, index: number) => index < rows || agent.id === focused;
  const hiddenAgents = agents.filter((agent, index) => !isShown(agent, index));
  return {
    collapsible,
    shown: agents.filter(isShown),
    hidden: hiddenAgents.length,
    hiddenOver: hiddenAgents.filter((agent) => isPastLine(levelState(agent))).length,
  };
}
