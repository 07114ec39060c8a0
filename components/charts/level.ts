import type { AgentView } from "@plimsoll/protocol/api";

/** An agent over its line with so few turns to the end of its window is in danger. */
const DANGER_TURNS = 10;
const DANGER_UTILIZATION = 0.95;

/**
 * `suspect`: the level exceeds the window size, which is then wrong. `over`: past the line, with room left. `danger`: about
 * to overflow.
 */
export type LevelState = "unknown" | "suspect" | "under" | "warning" | "over" | "danger";

export type Levelled = Pick<
  AgentView,
  "context_tokens" | "window_tokens" | "thresholds" | "line" | "forecast"
>;

export function levelState(agent: Levelled): LevelState {
  const { context_tokens: level, window_tokens: window, line, thresholds } = agent;
  if (level === null) return "unknown";
  if (window !== null && level > window) return "suspect";
  if (line === null) return "unknown";
  if (level >= line.tokens) return isInDanger(agent) ? "danger" : "over";
  const first = thresholds.filter(({ tokens }) => tokens > 0 && tokens < line.tokens);
  return first.some(({ tokens }) => level >= tokens) ? "warning" : "under";
}

/** Of an agent at or over its line. */
function isInDanger({ context_tokens: level, window_tokens: window, forecast }: Levelled): boolean {
  if (window !== null && level !== null && level >= window * DANGER_UTILIZATION) return true;
  return forecast.end_turns !== null && forecast.end_turns <= DANGER_TURNS;
}

export const isPastLine = (state: LevelState) => state === "over" || state === "danger";
