import type { AgentView, AppliedThreshold } from "@plimsoll/protocol/api";
import { thresholdLabel } from "./threshold-label.ts";
import { textWidth, visibleLabels } from "./visible-labels.ts";

/** Position of the line on the bar of an agent whose window size is unknown. */
export const LINE_AT = 0.8;
/** Minimum width of a bar in px. Labels that fit there always fit. */
const MIN_WIDTH_PX = 250;
/** Between a mark and its label, px. */
const LABEL_OFFSET_PX = 6;
/** Beyond this share of the bar, a label stands left of its mark. */
const LABEL_LEFT_FROM = 0.85;
/** An agent over its line with so few turns to the end of its window is in danger. */
const DANGER_TURNS = 10;
const DANGER_UTILIZATION = 0.95;

/**
 * `suspect`: the level exceeds the window size, which is then wrong. `over`: past the line, with room left. `danger`: about
 * to overflow.
 */
export type LevelState = "unknown" | "suspect" | "under" | "warning" | "over" | "danger";

export interface ThresholdMark {
  name: AppliedThreshold["name"];
  label: string;
  tokens: number;
  /** Share of the bar's width. */
  at: number;
  isLine: boolean;
  showLabel: boolean;
  labelSide: "left" | "right";
}

export interface LevelBarLayout {
  state: LevelState;
  /** Share of the bar's width, 0 to 1. */
  fill: number;
  /** Share of the width for the peak; above 1, it is beyond the end of the bar. */
  peak: number | null;
  marks: ThresholdMark[];
  /** True if the level is beyond the end of the bar. */
  overflow: boolean;
  /** What the full width of the bar is. */
  scale: "window" | "line" | "peak";
}

export type Levelled = Pick<
  AgentView,
  "context_tokens" | "window_tokens" | "peak" | "thresholds" | "line" | "load" | "forecast"
>;

/** The bar is the whole window. If its size is unknown, the line is at 80% of the bar, or the peak if there is no line. */
export function levelBarLayout(agent: Levelled): LevelBarLayout {
  const level = agent.context_tokens ?? 0;
  const peak = agent.peak?.tokens ?? null;
  const scale = agent.window_tokens !== null ? "window" : agent.line !== null ? "line" : "peak";
  const top =
    agent.window_tokens ?? (agent.line === null ? Math.max(level, peak ?? 0) : agent.line.tokens) / LINE_AT;
  return {
    state: levelState(agent),
    fill: top > 0 ? Math.min(1, level / top) : 0,
    peak: peak !== null && top > 0 ? peak / top : null,
    marks: top > 0 ? thresholdMarks(agent, top) : [],
    overflow: level > top,
    scale,
  };
}

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

function thresholdMarks(agent: Levelled, top: number): ThresholdMark[] {
  // Thresholds beyond the bar are left out; the text alternative still lists them.
  const within = agent.thresholds
    .filter(({ tokens }) => tokens <= top)
    .map((threshold) => ({ ...threshold, label: thresholdLabel(threshold) }));
  const line = agent.line?.threshold;
  const sideOf = (tokens: number) => (tokens / top > LABEL_LEFT_FROM ? "left" : "right");
  const shown = visibleLabels(
    within.map(({ name, label, tokens }) => {
      const size = textWidth(label);
      const toCenter = (size / 2 + LABEL_OFFSET_PX) * (sideOf(tokens) === "left" ? -1 : 1);
      return { at: (tokens / top) * MIN_WIDTH_PX + toCenter, size, rank: name === line ? 1 : 0 };
    }),
  );
  return within.map(({ name, label, tokens }, index) => ({
    name,
    label,
    tokens,
    at: tokens / top,
    isLine: name === line,
    showLabel: shown[index]!,
    labelSide: sideOf(tokens),
  }));
}

export const isPastLine = (state: LevelState) => state === "over" || state === "danger";
