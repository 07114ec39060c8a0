import type { LinkedTurn } from "./use-session-turns.ts";

export type LinkProblem = "unknown_agent" | "unlisted_agent" | "unknown_turn";

interface Link {
  /** The agent that the URL names. */
  agent: string | null;
  agents: readonly { id: string }[];
  /** Agents of the session that are not listed. */
  more: number;
  linked: LinkedTurn;
}

/** Why a link cannot be opened as it was meant; undefined if it can, or as long as that is not known. */
export function linkProblem({ agent, agents, more, linked }: Link): LinkProblem | undefined {
  if (agent !== null && !agents.some(({ id }) => id === agent))
    return more > 0 ? "unlisted_agent" : "unknown_agent";
  return linked.state === "unknown" ? "unknown_turn" : undefined;
}

/** @param shown the name of the agent that the page shows instead */
export function linkProblemText(problem: LinkProblem, shown: string, listed: number): string {
  switch (problem) {
    case "unknown_agent":
      return `The agent of this link is not in this session. It may have been deleted, or the link is incomplete. The page shows ${shown}.`;
    case "unlisted_agent":
      return `The agent of this link is not among the ${listed} agents that the page lists. The page shows ${shown}.`;
    case "unknown_turn":
      return `The turn of this link is not among the turns of ${shown}. It may have been deleted, or the link is incomplete.`;
  }
}
