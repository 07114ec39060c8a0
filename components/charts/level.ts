import type { AgentView, AppliedThreshold } from "@plimsoll/protocol";
import { thresholdLabel } from "./threshold-label.ts";
import { textWidth, visibleLabels } from "./visible-labels.ts";

/** Position of the line on every bar, so that agents with different windows compare at a glance. */
export const LINE_AT = 0.8;
/** Minimum width of a bar in px. Labels that fit there always fit. */
const MIN_WIDTH_PX = 230;

export type LevelState = "unknown" | "under" | "warning" | "over";

export interface ThresholdMark {
  name: AppliedThreshold["name"];
  label: string;
  tokens: number;
  /** Share of the bar's width. */
  at: number;
  isLine: boolean;
  showLabel: boolean;
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
  /** False without a known line: the bar then compares the level with its own peak. */
  scaled: boolean;
}

export type Levelled = Pick<AgentView, "context_tokens" | "peak" | "thresholds" | "line" | "load">;

export function levelBarLayout(agent: Levelled): LevelBarLayout {
  const level = agent.context_tokens ?? 0;
  const peak = agent.peak?.tokens ?? null;
  if (agent.line === null) {
    const top = Math.max(level, peak ?? 0) / LINE_AT;
    return {
      state: "unknown",
      fill: top > 0 ? level / top : 0,
      peak: peak !== null && top > 0 ? peak / top : null,
      marks: [],
      overflow: false,
      scaled: false,
    };
  }
  const top = agent.line.tokens / LINE_AT;
  return {
    state: levelState(agent),
    fill: Math.min(1, level / top),
    peak: peak === null ? null : peak / top,
    marks: thresholdMarks(agent, agent.line.threshold, top),
    overflow: level > top,
    scaled: true,
  };
}

export function levelState(agent: Levelled): LevelState {
  if (agent.context_tokens === null || agent.line === null) return "unknown";
  if (agent.context_tokens >= agent.line.tokens) return "over";
  const first = agent.thresholds.filter(({ tokens }) => tokens > 0 && tokens < agent.line!.tokens);
  return first.some(({ tokens }) => agent.context_tokens! >= tokens) ? "warning" : "under";
}

function thresholdMarks(agent: Levelled, line: AppliedThreshold["name"], top: number): ThresholdMark[] {
  // Thresholds beyond the bar are left out; the text alternative still lists them.
  const within = agent.thresholds
    .filter(({ tokens }) => tokens <= top)
    .map((threshold) => ({ ...threshold, label: thresholdLabel(threshold) }));
  const shown = visibleLabels(
    within.map(({ name, label, tokens }) => ({
      at: (tokens / top) * MIN_WIDTH_PX + textWidth(label) / 2,
      size: textWidth(label),
      rank: name === line ? 1 : 0,
    })),
  );
  return within.map(({ name, label, tokens }, index) => ({
    name,
    label,
    tokens,
    at: tokens / top,
    isLine: name === line,
    showLabel: shown[index]!,
  }));
}
