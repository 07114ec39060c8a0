import { atBoundary, atLevel } from "../agent-sight.ts";
import { type AgentConditionKind, counted } from "../condition-kind.ts";

const HOUR_MS = 3_600_000;
/** Twice what a rule may ask for: others come between those that it counts. */
const MOST_BOUNDARIES = 80;

export const boundariesPerHour: AgentConditionKind<"boundaries_per_hour"> = {
  title: "boundaries per hour",
  phrase: ({ boundary, at_least }) =>
    `${at_least} ${boundary === "subtick" ? "sub-ticks" : "restarts"} an hour or more`,
  fields: {
    boundary: { label: "Boundary", kind: "choice", options: ["subtick", "restarted"] },
    at_least: { label: "Per hour, at least", kind: "number" },
  },
  start: { type: "boundaries_per_hour", boundary: "restarted", at_least: 4 },
  advice: "Give the agent smaller tasks, or a model with a larger window.",
  spansWindows: true,
  needs: () => ({ boundaries: MOST_BOUNDARIES }),
  find({ boundary, at_least }, sight, _held, now) {
    const within = sight.boundaries.filter(
      ({ type, at, receivedAt }) => type === boundary && Math.min(at, receivedAt) > now - HOUR_MS,
    );
    return within[0] === undefined ? atLevel(sight, false) : atBoundary(within[0], within.length >= at_least);
  },
  why({ boundary }, { boundaries }) {
    const count = boundaries.filter(({ type }) => type === boundary).length;
    return `${counted(count, boundary === "subtick" ? "sub-tick" : "restart")} within an hour`;
  },
};
