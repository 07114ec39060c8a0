import { estimateTokens } from "@plimsoll/guard/measure";
import type { Composition } from "@plimsoll/protocol/events";
import { asObject, asText } from "./json.ts";

/** What one line of a transcript adds to the context, in tokens as the guard estimates them. */
export interface LineParts {
  at: number;
  history: number;
  tool_output: number;
  system: number;
}

/** A point at which the context begins anew, or at which tool output was cleared from it. */
export interface PartsReset {
  at: number;
  /** Tokens of tool output that were cleared; undefined if everything was. */
  cleared?: number | undefined;
}

export interface TurnLevel {
  key: string;
  at: number;
  /** Context tokens. */
  level: number;
  /** Tokens of the model per estimated token. */
  scale: number;
}

/** Estimates are left out if they explain less than this share of the level: the transcript begins in the middle. */
const LEAST_SHARE = 0.01;

/**
 * What fills the window at each turn, estimated from the lines of the transcript before it. The parts never add up to
 * more than the level; what the transcript does not show, such as tool definitions, is in none of them.
 */
export function partsAtTurns(
  turns: readonly TurnLevel[],
  lines: readonly LineParts[],
  resets: readonly PartsReset[],
): Map<string, Pick<Composition, "system" | "history" | "tool_output">> {
  const steps = [
    ...lines.map((line) => ({ at: line.at, line, reset: undefined })),
    ...resets.map((reset) => ({ at: reset.at, line: undefined, reset })),
  ].sort((a, b) => a.at - b.at || Number(a.line !== undefined) - Number(b.line !== undefined));
  const found = new Map<string, Pick<Composition, "system" | "history" | "tool_output">>();
  const sums = { system: 0, history: 0, tool_output: 0 };
  let next = 0;
  for (const { key, at, level, scale } of [...turns].sort((a, b) => a.at - b.at)) {
    for (let step = steps[next]; step !== undefined && step.at < at; step = steps[++next]) {
      if (step.line !== undefined) {
        sums.system += step.line.system;
        sums.history += step.line.history;
        sums.tool_output += step.line.tool_output;
      } else if (step.reset.cleared !== undefined) {
        sums.tool_output = Math.max(0, sums.tool_output - step.reset.cleared / scale);
      } else {
        sums.history = 0;
        sums.tool_output = 0;
      }
    }
    const total = (sums.system + sums.history + sums.tool_output) * scale;
    if (level <= 0 || total < level * LEAST_SHARE) continue;
    // Estimates that exceed the count are scaled down to it.
    const factor = total > level ? (level / total) * scale : scale;
    const [system, history, output] = [sums.system, sums.history, sums.tool_output].map((sum) =>
      Math.floor(sum * factor),
    ) as [number, number, number];
    found.set(key, { system: system > 0 ? system : undefined, history, tool_output: output });
  }
  return found;
}

/** Estimated tokens of a content block's text, whatever its shape: a string, blocks with text, or any JSON. */
export function textTokens(content: unknown): number {
  if (content === undefined || content === null) return 0;
  if (typeof content === "string") return estimateTokens(content);
  if (Array.isArray(content)) return content.reduce((sum: number, one) => sum + textTokens(one), 0);
  const block = asObject(content);
  if (block === undefined) return 0;
  // The data of an image is no text.
  if (/image|document|audio/.test(asText(block.type) ?? "")) return 0;
  const text = asText(block.text);
  if (text !== undefined) return estimateTokens(text);
  return block.type === "text" || "text" in block ? 0 : estimateTokens(JSON.stringify(block));
}
