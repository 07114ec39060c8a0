import { exact } from "@plimsoll/protocol/pure";
import { type AgentConditionKind, forTurns } from "../condition-kind.ts";
import { findLevel, TURNS_FIELD } from "../find-level.ts";

export const tokens: AgentConditionKind<"tokens"> = {
  title: "context tokens",
  phrase: ({ at_least, turns }) => `${exact(at_least)} context tokens or more${forTurns(turns)}`,
  fields: {
    at_least: { label: "Context tokens, at least", kind: "number" },
    turns: TURNS_FIELD,
  },
  start: { type: "tokens", at_least: 150_000, turns: 1 },
  advice: "See what fills the window, and compact or restart the agent.",
  spansWindows: false,
  find: ({ at_least, turns }, sight, held) => findLevel(sight, at_least, turns, held),
  why: ({ at_least, turns }, { contextTokens = 0 }) =>
    `${exact(contextTokens)} context tokens, at or above ${exact(at_least)}${forTurns(turns)}`,
};
