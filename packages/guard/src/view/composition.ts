import type { GuardState, Mask } from "../state.ts";
import type { History } from "./history.ts";
import { estimateRange } from "./view.ts";

export interface Parts {
  system: number;
  /** Tool schemas and wrapping: what the provider counted beyond the messages. */
  tools: number;
  history: number;
  tool_output: number;
}

/** What the counted tokens were made of, by share of the estimates. Adds up to `level`. */
export function compositionOf<M>(
  history: History<M>,
  state: GuardState,
  masks: ReadonlyMap<string, Mask>,
  level: number,
): Parts {
  const { entries, pinned } = history;
  const from = Math.max(state.cut?.at ?? 0, pinned);
  const system = estimateRange(history, masks, 0, Math.min(pinned, entries.length));
  const all = state.sent ?? 0;
  let output = 0;
  for (let index = from; index < entries.length; index++) {
    for (const result of entries[index]!.results) {
      output += result.tokens - (masks.get(result.id)?.saved ?? 0);
    }
  }
  const slope = state.calibration.slope;
  // Estimates that exceed the count are scaled down to it; otherwise the rest is what stands beside the messages.
  const scale = all * slope > level ? level / all : slope;
  const parts = {
    system: Math.round(system * scale),
    tool_output: Math.round(output * scale),
    history: Math.max(0, Math.round((all - system - output) * scale)),
    tools: 0,
  };
  parts.tools = Math.max(0, level - parts.system - parts.tool_output - parts.history);
  return parts;
}
