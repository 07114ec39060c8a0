import { exact } from "../format.ts";

/** Progress of applying new window sizes to recorded turns. */
export function recomputingText(agents: number): string {
  const subject = agents === 1 ? "1 agent is" : `${exact(agents)} agents are`;
  return `${subject} still to be recomputed with the new size.`;
}
