import type { FleetAgent } from "@plimsoll/protocol/api";
import { isPastLine, levelState } from "../charts/level.ts";

/** Rows shown of a large fleet, so that the charts below fit on the first screen. */
export const COLLAPSED_ROWS = 8;
/** The same on very wide screens, which show the charts next to the agents. */
export const COLLAPSED_ROWS_WIDE = 16;
/** The same on screens that are also high. */
export const COLLAPSED_ROWS_TALL = 20;
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

/** The rows to show of sorted agents: `rows` of a large fleet, or all. */
export function visibleAgents(
  agents: readonly FleetAgent[],
  all: boolean,
  rows = COLLAPSED_ROWS,
): VisibleAgents {
  const collapsible = agents.length > rows + SPARE_ROWS;
  if (all || !collapsible) return { collapsible, shown: agents, hidden: 0, hiddenOver: 0 };
  const hiddenAgents = agents.slice(rows);
  return {
    collapsible,
    shown: agents.slice(0, rows),
    hidden: hiddenAgents.length,
    hiddenOver: hiddenAgents.filter((agent) => isPastLine(levelState(agent))).length,
  };
}
