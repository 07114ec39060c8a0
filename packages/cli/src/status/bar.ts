import { type HullInput, hullOf, LINE_AT } from "@plimsoll/fold";

const FULL = "█";
const PARTS = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
const EMPTY = "·";
/** Between the line and the end of the window. */
const PAST_LINE = "░";
const LINE = "┃";
const THRESHOLD = "│";
const END = "┤";

/**
 * Draws the agent's level as the pages do: the line is at the same place in all bars, and the bar ends with the window. Light
 * strokes are the other thresholds. Blank without a line and a window size.
 */
export function bar(agent: HullInput, width: number): string {
  const hull = hullOf(agent);
  if (hull === null || agent.context_tokens === null || width < 3) return " ".repeat(Math.max(0, width));
  const cellOf = (place: number) => Math.min(width - 1, Math.floor(place * width));
  const level = hull.level * width;
  const end = hull.end === null ? width : cellOf(hull.end);
  const line = cellOf(LINE_AT);
  const cells = Array.from({ length: width }, (_, at) => {
    if (level >= at + 1) return FULL;
    const rest = at > end ? " " : at > line ? PAST_LINE : EMPTY;
    return level <= at ? rest : PARTS[Math.floor((level - at) * 8)] || rest;
  });
  for (const mark of hull.marks) cells[cellOf(mark.at)] = THRESHOLD;
  if (hull.end !== null) cells[end] = END;
  cells[line] = LINE;
  return cells.join("");
}
