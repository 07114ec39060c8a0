import { atBoundary, atLevel, isRecent } from "../agent-sight.ts";
import type { AgentConditionKind } from "../condition-kind.ts";

export const thrash: AgentConditionKind<"thrash"> = {
  title: "many boundaries in few turns",
  phrase: ({ boundaries, within_turns }) => `${boundaries} boundaries within ${within_turns} turns`,
  fields: {
    boundaries: { label: "Boundaries", kind: "number" },
    within_turns: { label: "Within turns", kind: "number" },
  },
  start: { type: "thrash", boundaries: 3, within_turns: 10 },
  advice: "Stop the agent and split its work: it loses its context again and again.",
  spansWindows: true,
  needs: ({ boundaries, within_turns }) => ({
    boundaries,
    turnsSince: { boundary: boundaries, most: within_turns },
  }),
  find({ boundaries, within_turns }, sight, _held, now) {
    const first = sight.boundaries[boundaries - 1];
    const newest = sight.boundaries[0];
    if (first === undefined || newest === undefined || sight.turnTimes === undefined)
      return atLevel(sight, false);
    const turns = sight.turnTimes.filter((at) => at > first.at).length;
    return atBoundary(newest, turns <= within_turns && isRecent(newest, now));
  },
  why: ({ boundaries, within_turns }) => `${boundaries} boundaries within ${within_turns} turns`,
};
