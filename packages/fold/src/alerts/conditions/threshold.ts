import { exact, THRESHOLD_NAMES } from "@plimsoll/protocol/pure";
import { atLevel } from "../agent-sight.ts";
import type { AgentConditionKind } from "../condition-kind.ts";

/** A named threshold, or the agent's line, was crossed upwards and not yet downwards. */
export const threshold: AgentConditionKind<"threshold"> = {
  title: "crosses a threshold",
  phrase: ({ threshold }) => `an agent crosses its ${threshold}`,
  fields: {
    threshold: { label: "Threshold", kind: "choice", options: ["line", ...THRESHOLD_NAMES] },
  },
  start: { type: "threshold", threshold: "line" },
  advice: "See what fills the window, and compact or restart the agent before its end.",
  spansWindows: false,
  find({ threshold }, sight) {
    const name = threshold === "line" ? sight.line?.threshold : threshold;
    return atLevel(sight, name !== undefined && sight.above.includes(name));
  },
  why({ threshold }, { contextTokens = 0, line }) {
    const name = threshold === "line" ? (line?.threshold ?? "line") : threshold;
    const at = line?.threshold === name ? ` (${exact(line.tokens)} tokens)` : "";
    return `${exact(contextTokens)} context tokens crossed the ${name}${at}`;
  },
};
