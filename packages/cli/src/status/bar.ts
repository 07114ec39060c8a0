import type { FleetAgent } from "@plimsoll/protocol";

/** The line stands at four fifths of the width, so that agents under different policies can be compared by eye. */
const LINE_AT = 0.8;
const FULL = "█";
const PARTS = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
const EMPTY = "·";
const LINE = "┃";
const THRESHOLD = "│";
const BEYOND = "▶";

export type BarInput = Pick<FleetAgent, "context_tokens" | "window_tokens" | "line" | "thresholds" | "peak">;

/** Tokens at the right end of the bar. Without a line the window itself is the end; without either, there is no scale. */
export function scaleOf(agent: BarInput): number | undefined {
  if (agent.line !== null && agent.line.tokens > 0) return agent.line.tokens / LINE_AT;
  return agent.window_tokens ?? undefined;
}

/**
 * The agent's level with its thresholds drawn over it: a heavy stroke for the line, light ones for the others, a
 * dotted rest. A level beyond the right end is marked, never cut silently.
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
