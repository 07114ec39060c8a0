import type { GuardState, Mask } from "../state/state.ts";
import { scaleTo } from "./contents.ts";
import type { MessageHistory } from "./history.ts";
import { estimateRange } from "./view.ts";

/** Context tokens by kind of content. */
export interface ContextComposition {
  system: number;
  /** Tool schemas and wrapping: the counted tokens beyond the messages. */
  tools: number;
  history: number;
  tool_output: number;
}

/** Splits a level by kind of content, in proportion to the estimates. The parts add up to `level`. */
export function compositionOf<M>(
  history: MessageHistory<M>,
  state: GuardState,
  masks: ReadonlyMap<string, Mask>,
  level: number,
): ContextComposition {
  const { entries, pinned } = history;
  const from = Math.max(state.cut?.at ?? 0, pinned);
  const system = estimateRange(history, masks, 0, Math.min(pinned, entries.length));
  const all = state.sent ?? 0;
  let output = 0;
  for (let index = from; index < entries.length; index++) {
    for (const result of entries[index]!.results) {
      output += result.tokens - (masks.get(result.mark)?.saved ?? 0);
    }
  }
  // What the estimates do not explain is counted as tools.
  const scale = scaleTo(state, level);
  const parts = {
    system: Math.round(system * scale),
    tool_output: Math.round(output * scale),
    history: Math.max(0, Math.round((all - state.besides - system - output) * scale)),
    tools: 0,
  };
  parts.tools = Math.max(0, level - parts.system - parts.tool_output - parts.history);
  return parts;
}
