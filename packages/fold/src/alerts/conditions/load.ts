import { exact, loadOf, loadPercent } from "@plimsoll/protocol/pure";
import { type AgentConditionKind, forTurns, shareText } from "../condition-kind.ts";
import { findLevel, TURNS_FIELD } from "../find-level.ts";

/** Context tokens ÷ tokens at the line. */
export const load: AgentConditionKind<"load"> = {
  title: "load at the line",
  phrase: ({ at_least, turns }) => `load at ${shareText(at_least)} of the line or more${forTurns(turns)}`,
  fields: { at_least: { label: "Load at least", kind: "percent" }, turns: TURNS_FIELD },
  start: { type: "load", at_least: 0.9, turns: 1 },
  advice: "See what fills the window, and compact or restart the agent before its line.",
  spansWindows: false,
  find: ({ at_least, turns }, sight, held) =>
    findLevel(sight, sight.line && at_least * sight.line.tokens, turns, held),
  why: ({ turns }, { contextTokens = 0, line }) =>
    `Load ${loadPercent(loadOf(contextTokens, line) ?? 0)} of the ${line?.threshold ?? "line"} (${exact(line?.tokens ?? 0)} tokens)${forTurns(turns)}`,
};
