import type { AgentView, ObservedHarnessLine } from "@plimsoll/protocol/api";

/** What was observed of the agents of each harness, model, window size and kind. */
export type ObservedLines = ReadonlyMap<string, ObservedHarnessLine>;

const keyOf = (harness: string, model: string | null, windowTokens: number | null, isSubAgent: boolean) =>
  JSON.stringify([harness, model, windowTokens, isSubAgent]);

export function observedLines(lines: readonly ObservedHarnessLine[]): ObservedLines {
  return new Map(
    lines.map((line) => [keyOf(line.harness, line.model, line.window_tokens, line.sub_agents), line]),
  );
}

/** What was observed of agents such as this one; undefined if nothing was. */
export function observedOf(
  lines: ObservedLines,
  harness: string,
  { model, window_tokens, parent }: Pick<AgentView, "model" | "window_tokens" | "parent">,
): ObservedHarnessLine | undefined {
  return lines.get(keyOf(harness, model, window_tokens, parent !== null));
}
