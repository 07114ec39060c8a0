import { exact } from "@plimsoll/protocol/pure";
import { findRecent } from "../agent-sight.ts";
import { type AgentConditionKind, counted } from "../condition-kind.ts";

/** The number of a restart, as the harness counts them. */
export const restartLimit: AgentConditionKind<"restart_limit"> = {
  title: "restarts of an agent",
  phrase: ({ at_least }) => `an agent is restarted ${counted(at_least, "time")}`,
  fields: { at_least: { label: "Restarts", kind: "number" } },
  start: { type: "restart_limit", at_least: 5 },
  advice: "Check whether the agent still makes progress.",
  spansWindows: true,
  find: ({ at_least }, sight, _held, now) =>
    findRecent(sight, now, ({ type, number = 0 }) => type === "restarted" && number >= at_least),
  why: (_, { boundaries }) =>
    `Restart ${exact(boundaries.find(({ type }) => type === "restarted")?.number ?? 0)} of this agent`,
};
