import { exact } from "@plimsoll/protocol/pure";
import { findRecent, type SeenBoundary } from "../agent-sight.ts";
import type { AgentConditionKind } from "../condition-kind.ts";

const isUnexplained = ({ type }: SeenBoundary) => type === "unexplained";

export const unexplainedFall: AgentConditionKind<"unexplained_fall"> = {
  title: "unexplained fall",
  phrase: () => "the level falls and no boundary says why",
  fields: {},
  start: { type: "unexplained_fall" },
  advice: "Open the turn, and check whether the agent still knows its task.",
  spansWindows: true,
  find: (_, sight, _held, now) => findRecent(sight, now, isUnexplained),
  why: (_, { boundaries }) => `${fallText(boundaries.find(isUnexplained))} without an explanation`,
};

/** Such as `The level fell from 90,000 to 20,000 tokens`. */
export function fallText(fall: SeenBoundary | undefined): string {
  const [before, after] = [fall?.tokensBefore, fall?.tokensAfter];
  if (before === undefined || after === undefined) return "The level fell";
  return `The level fell from ${exact(before)} to ${exact(after)} tokens`;
}
