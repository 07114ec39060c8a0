import { exact } from "@plimsoll/protocol/pure";
import { type AgentSight, atLevel } from "../agent-sight.ts";
import { type AgentConditionKind, counted } from "../condition-kind.ts";

/**
 * Why an agent is in danger at its line. `no_fall`: it stays above. `near_window_end`: it has used half of the room between its line
 * and the end of its window. `passed`: nobody acts at this line.
 */
type Danger = "no_fall" | "near_window_end" | "passed";

/** Turns above the line with which a harness that acts between two turns has not acted. */
const NOT_ACTED = 2;
/** Where the danger begins if the line is the end of the window, as a fraction of it. */
const NEAR_END = 0.95;

/** Past the line, and nothing brings the agent back. Most harnesses compact at their line, which is no danger. */
export const pastLine: AgentConditionKind<"past_line"> = {
  title: "stays past its line",
  phrase: ({ turns }) => `an agent is past its line and does not fall within ${counted(turns, "turn")}`,
  fields: { turns: { label: "Without a fall for", kind: "number", unit: "turns" } },
  start: { type: "past_line", turns: 3 },
  advice: "Compact or restart the agent, or split its work.",
  spansWindows: false,
  find({ turns }, sight, held) {
    return atLevel(sight, held ? turnsAbove(sight) > 0 : dangerOf(sight, turns) !== undefined);
  },
  why({ turns }, sight) {
    const { contextTokens = 0, windowTokens = 0, line } = sight;
    const level = `${exact(contextTokens)} context tokens`;
    const above = `${level}, past the ${line?.threshold ?? "line"} (${exact(line?.tokens ?? 0)} tokens)`;
    switch (dangerOf(sight, turns)) {
      case "near_window_end":
        return `${level}, ${exact(Math.max(0, windowTokens - contextTokens))} before the end of the window`;
      case "passed":
        return `${above}, which its harness is not known to keep`;
      default:
        return `${above} for ${counted(turnsAbove(sight), "turn")} without a fall`;
    }
  },
};

/** The latest turns in a row that are past the line, as far as levels are remembered. */
function turnsAbove({ recent, line, windowTokens = Number.POSITIVE_INFINITY }: AgentSight): number {
  if (line === undefined) return 0;
  const least = line.tokens < windowTokens ? line.tokens : NEAR_END * windowTokens;
  return recent.length - 1 - recent.findLastIndex((level) => level < least);
}

function dangerOf(sight: AgentSight, turns: number): Danger | undefined {
  const { line, lineKeeper, contextTokens = 0, windowTokens } = sight;
  const above = turnsAbove(sight);
  if (line === undefined || above === 0) return undefined;
  // The size of the window is wrong, and so is a line that follows from it. `window_suspect` tells that.
  if (windowTokens !== undefined && contextTokens > windowTokens && line.tokens <= windowTokens)
    return undefined;
  if (windowTokens !== undefined && line.tokens >= windowTokens) return "near_window_end";
  if (lineKeeper === "nobody") return "passed";
  if (above < NOT_ACTED) return undefined;
  if (windowTokens !== undefined && contextTokens >= (line.tokens + windowTokens) / 2)
    return "near_window_end";
  return above > turns ? "no_fall" : undefined;
}
