import type { DropHint } from "./mark.ts";
import type { ThresholdName } from "./thresholds.ts";
import type { Numbering, TurnPosition } from "./timeline.ts";
import { NO_NUMBERING } from "./timeline.ts";
import type { TurnFacts } from "./turn.ts";
import type { WindowSource } from "./window.ts";

/** One life of a context window, as far as the turns tell. Tokens, epoch ms. */
export interface WindowSummary {
  index: number;
  firstAt: number;
  lastAt: number;
  turns: number;
  firstTokens: number | undefined;
  lastTokens: number | undefined;
  peakTokens: number | undefined;
  peakUtilization: number | undefined;
  windowTokens: number | undefined;
}

export interface Peak {
  tokens: number;
  windowTokens: number | undefined;
  at: number;
}

/**
 * All that the next turn of an agent needs to know of the past. Plain JSON: it is stored with the agent, so that an
 * event in order costs one step and no reading of history.
 */
export interface AgentState {
  tail: TurnPosition | undefined;
  lastTurnAt: number | undefined;
  /** The latest mark in time, with the highest window of any mark. */
  lastMark: { window: number; at: number; id: string } | undefined;
  numbering: Numbering;
  turns: number;
  /** The window size last reported for each model. */
  reported: { model: string; tokens: number }[];
  model: string | undefined;
  /** Context tokens of the latest turn that was counted. */
  current: number | undefined;
  currentAt: number | undefined;
  currentEstimated: boolean;
  /** Index of the window `current` was read in. */
  currentWindow: number | undefined;
  windowTokens: number | undefined;
  windowSource: WindowSource;
  /** Turns since `current` whose prompt was not counted. */
  uncounted: number;
  /** Levels since the last fall, oldest first, for the forecast. */
  recent: number[];
  above: readonly ThresholdName[];
  /** Boundaries since the latest counted turn: the next one says where the level came to. */
  pending: BoundaryReading[];
  window: WindowSummary | undefined;
  windows: number;
  peak: Peak | undefined;
  peakUtilization: number | undefined;
  /** Set once the harness reported crossings: the time up to which a turn may still be the one a report speaks of. */
  reports: { openUntil: number | undefined } | undefined;
}

export interface TurnReading {
  turn: TurnFacts;
  window: number;
  contextTokens: number | undefined;
  windowTokens: number | undefined;
  windowSource: WindowSource;
  utilization: number | undefined;
}

export interface BoundaryReading {
  id: string;
  type: string;
  /** Epoch ms. */
  at: number;
  window: number;
  tokensBefore: number | undefined;
  tokensAfter: number | undefined;
}

/** A boundary nobody sent: the level fell, or the window index moved, without a word. */
export interface InferredBoundary extends BoundaryReading {
  type: "unexplained" | "restarted";
  hint: DropHint | undefined;
}

/** Tokens a boundary brought the level down by; 0 while either side is unknown. */
export function reclaimedTokens(boundary: Pick<BoundaryReading, "tokensBefore" | "tokensAfter">): number {
  const { tokensBefore, tokensAfter } = boundary;
  return tokensBefore === undefined || tokensAfter === undefined
    ? 0
    : Math.max(0, tokensBefore - tokensAfter);
}

export const EMPTY_STATE: AgentState = {
  tail: undefined,
  lastTurnAt: undefined,
  lastMark: undefined,
  numbering: NO_NUMBERING,
  turns: 0,
  reported: [],
  model: undefined,
  current: undefined,
  currentAt: undefined,
  currentEstimated: false,
  currentWindow: undefined,
  windowTokens: undefined,
  windowSource: "unknown",
  uncounted: 0,
  recent: [],
  above: [],
  pending: [],
  window: undefined,
  windows: 0,
  peak: undefined,
  peakUtilization: undefined,
  reports: undefined,
};
