import type { History } from "./history.ts";
import { clip, summaryOf } from "./placeholder.ts";
import type { Shape } from "./shape.ts";

/**
 * A summary made without a model: the user's requests in their own words, what was called, the agent's last words.
 * Used when no summariser is given or when it failed. `maxChars` bounds it.
 */
export function digest<M>(
  history: History<M>,
  shape: Shape<M>,
  from: number,
  to: number,
  maxChars: number,
): string {
  const asked: string[] = [];
  const calls = new Map<string, number>();
  const results: string[] = [];
  let said = "";
  for (let index = from; index < to; index++) {
    const entry = history.entries[index]!;
    for (const part of shape.read(entry.message)) {
      if (part.kind === "user") asked.push(oneLine(part.text));
      if (part.kind === "assistant") said = oneLine(part.text);
    }
    for (const result of entry.results) {
      calls.set(result.tool, (calls.get(result.tool) ?? 0) + 1);
      results.push(`${result.tool}: ${clip(oneLine(summaryOf(result.text)), 120)}`);
    }
  }
  const share = Math.max(80, Math.floor(maxChars / 4));
  const lines: string[] = [];
  if (asked.length > 0) {
    const first = clip(asked[0]!, share);
    const later = asked.length > 1 ? ` | latest: ${clip(asked.at(-1)!, share)}` : "";
    lines.push(`Asked: ${first}${later}`);
  }
  if (calls.size > 0) {
    lines.push(`Tools used: ${[...calls].map(([tool, times]) => `${tool} x${times}`).join(", ")}`);
    lines.push(`Latest results: ${clip(results.slice(-3).join("; "), share)}`);
  }
  if (said !== "") lines.push(`Last said: ${clip(said, share)}`);
  return clip(lines.join("\n"), maxChars);
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}
