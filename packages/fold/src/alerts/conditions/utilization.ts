import { exact, loadPercent } from "@plimsoll/protocol/pure";
import { utilizationOf } from "../../history/window.ts";
import { type AgentConditionKind, forTurns, shareText } from "../condition-kind.ts";
import { findLevel, TURNS_FIELD } from "../find-level.ts";

/** Context tokens ÷ window tokens. */
export const utilization: AgentConditionKind<"utilization"> = {
  title: "share of the window",
  phrase: ({ at_least, turns }) => `${shareText(at_least)} of the window or more${forTurns(turns)}`,
  fields: { at_least: { label: "Utilization at least", kind: "percent" }, turns: TURNS_FIELD },
  start: { type: "utilization", at_least: 0.8, turns: 1 },
  advice: "See what fills the window, and compact or restart the agent before its end.",
  spansWindows: false,
  find: ({ at_least, turns }, sight, held) =>
    findLevel(sight, sight.windowTokens && at_least * sight.windowTokens, turns, held),
  why: ({ turns }, { contextTokens = 0, windowTokens }) =>
    `${loadPercent(utilizationOf(contextTokens, windowTokens) ?? 0)} of the window (${exact(windowTokens ?? 0)} tokens)${forTurns(turns)}`,
};
