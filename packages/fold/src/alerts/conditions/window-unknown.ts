import { atLevel } from "../agent-sight.ts";
import type { AgentConditionKind } from "../condition-kind.ts";

export const windowUnknown: AgentConditionKind<"window_unknown"> = {
  title: "window unknown",
  phrase: () => "window size unknown",
  fields: {},
  start: { type: "window_unknown" },
  advice: "Set the size of the model's window in Setup.",
  spansWindows: false,
  find: (_, sight) => atLevel(sight, sight.contextTokens !== undefined && sight.windowTokens === undefined),
  why: () => "Window size unknown",
};
