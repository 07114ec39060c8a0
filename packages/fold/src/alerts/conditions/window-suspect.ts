import { exact, loadPercent } from "@plimsoll/protocol/pure";
import { utilizationOf } from "../../history/window.ts";
import { atLevel } from "../agent-sight.ts";
import type { AgentConditionKind } from "../condition-kind.ts";

/** Utilization above 100%: the window size is probably wrong. */
export const windowSuspect: AgentConditionKind<"window_suspect"> = {
  title: "over 100% of the window",
  phrase: () => "more context tokens than the window has",
  fields: {},
  start: { type: "window_suspect" },
  advice: "Set the size of the model's window in Setup.",
  spansWindows: false,
  find: (_, sight) => atLevel(sight, (utilizationOf(sight.contextTokens, sight.windowTokens) ?? 0) > 1),
  why: (_, { contextTokens, windowTokens }) =>
    `${loadPercent(utilizationOf(contextTokens, windowTokens) ?? 0)} of the window: its size of ${exact(windowTokens ?? 0)} tokens is probably wrong`,
};
