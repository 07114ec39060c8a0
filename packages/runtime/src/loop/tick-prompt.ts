import { clip } from "@plimsoll/guard/view";
import { continuationText, type LoopState } from "./state.ts";

/** The first prompt of a tick: the goal, the handoff and the loop's state. */
export function tickPrompt(state: LoopState, resumed: boolean): string {
  const parts = [`Goal: ${state.goal}`];
  if (state.continuation !== undefined) {
    parts.push(
      `You are continuing work begun in an earlier context.\n${continuationText(state.continuation)}`,
    );
  }
  parts.push(`Iteration ${state.iteration + 1}. Results so far: ${state.results.length}.`);
  if (state.data !== null) parts.push(`State: ${clip(JSON.stringify(state.data), 4_000)}`);
  if (resumed) parts.push("The previous attempt at this step was cut off: check what is already done.");
  return parts.join("\n\n");
}
