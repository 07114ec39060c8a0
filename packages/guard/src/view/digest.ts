import type { MessageHistory } from "./history.ts";
import { clip, summaryOf } from "./placeholder.ts";
import type { Shape } from "./shape.ts";

/**
 * Summarises messages without a model: the user's first and latest requests, the tools used, and the agent's last
 * text. Used when there is no summariser or it failed. At most `maxChars` characters.
 */
export function digest<M>(
  history: MessageHistory<M>,
  shape: Shape<M>,
  from: number,
  to: number,
  maxChars: number,
): string {
  const requests: string[] = [];
  const calls = new Map<string, number>();
  const results: string[] = [];
  let lastAnswer = "";
  for (let index = from; index < to; index++) {
    const entry = history.entries[index]!;
    for (const part of shape.read(entry.message)) {
      if (part.kind === "user") requests.push(oneLine(part.text));
      if (part.kind === "assistant") lastAnswer = oneLine(part.text);
    }
    for (const result of entry.results) {
      calls.set(result.tool, (calls.get(result.tool) ?? 0) + 1);
      results.push(`${result.tool}: ${clip(oneLine(summaryOf(result.text)), 120)}`);
    }
  }
  const share = Math.max(80, Math.floor(maxChars / 4));
  const lines: string[] = [];
  if (requests.length > 0) {
    const first = clip(requests[0]!, share);
    const later = requests.length > 1 ? ` | latest: ${clip(requests.at(-1)!, share)}` : "";
    lines.push(`Asked: ${first}${later}`);
  }
  if (calls.size > 0) {
    lines.push(`Tools used: ${[...calls].map(([tool, times]) => `${tool} x${times}`).join(", ")}`);
    lines.push(`Latest results: ${clip(results.slice(-3).join("; "), share)}`);
  }
  if (lastAnswer !== "") lines.push(`Last answer: ${clip(lastAnswer, share)}`);
  return clip(lines.join("\n"), maxChars);
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}
