import type { FleetAgent } from "@plimsoll/protocol/api";

/** Position of the line in the bar. It is the same for all agents, so that their bars are comparable. */
const LINE_AT = 0.8;
const FULL = "█";
const PARTS = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
const EMPTY = "·";
const LINE = "┃";
const THRESHOLD = "│";
const BEYOND = "▶";

export type BarInput = Pick<FleetAgent, "context_tokens" | "window_tokens" | "line" | "thresholds" | "peak">;

/** Tokens at the right end of the bar, or undefined without a line and a window size. Without a line, the window is the end. */
export function scaleOf(agent: BarInput): number | undefined {
  if (agent.line !== null && agent.line.tokens > 0) return agent.line.tokens / LINE_AT;
  return agent.window_tokens ?? undefined;
}

/**
 * Draws the agent's level with a heavy stroke for the line and light strokes for the other thresholds. A level beyond
 * the right end is marked with ▶.
 */
export function bar(agent: BarInput, width: number): string {
  const scale = scaleOf(agent);
  if (scale === undefined || agent.context_tokens === null || width < 3)
    return " ".repeat(Math.max(0, width));
  const cell = (tokens: number) => (tokens / scale) * width;
  const level = cell(agent.context_tokens);
  const cells = Array.from({ length: width }, (_, at) => {
    if (level >= at + 1) return FULL;
    if (level <= at) return EMPTY;
    return PARTS[Math.floor((level - at) * 8)] || EMPTY;
  });
  const mark = (tokens: number, sign: string) => {
    const at = Math.min(width - 1, Math.floor(cell(tokens)));
    if (cell(tokens) <= width) cells[at] = sign;
  };
  for (const threshold of agent.thresholds) mark(threshold.tokens, THRESHOLD);
  if (agent.line !== null) mark(agent.line.tokens, LINE);
  if (level > width) cells[width - 1] = BEYOND;
  return cells.join("");
}
