import type { FleetAgent } from "@plimsoll/protocol";
import { levelState } from "../charts/level.ts";

/** How many rows of a large fleet stand above the charts: with these both fit one screen. */
export const COLLAPSED_ROWS = 8;
/** A fleet of so many is shown whole: a button for two rows more is worth less than the rows. */
export const COLLAPSE_ABOVE = 10;

export interface Fullest {
  shown: readonly FleetAgent[];
  /** Left out of the page for now. */
  hidden: number;
  /** How many of these are over their line. */
  hiddenOver: number;
}

/**
 * The rows to show of agents that come highest load first. `held` is the agent somebody stands on with the keyboard:
 * its row stays when others overtake it, or the focus would be lost.
 */
export function visibleAgents(agents: readonly FleetAgent[], all: boolean, held: string | null): Fullest {
  if (all || agents.length <= COLLAPSE_ABOVE) return { shown: agents, hidden: 0, hiddenOver: 0 };
  const isShown = (agent: FleetAgent, index: number) => index < COLLAPSED_ROWS || agent.id === held;
  const left = agents.filter((agent, index) => !isShown(agent, index));
  return {
    shown: agents.filter(isShown),
    hidden: left.length,
    hiddenOver: left.filter((agent) => levelState(agent) === "over").length,
  };
}
