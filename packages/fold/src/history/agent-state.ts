import type { FallHint, Survived, ThresholdName, WindowSource } from "@plimsoll/protocol/pure";
import type { ReportTrace } from "../witnesses/match-reports.ts";
import type { CachedPrompt, CacheRebuild } from "./cache-rebuild.ts";
import type { CrossingReport, KnownLevel } from "./crossings.ts";
import { type FallFacts, NO_FALL, type SinceFall, type SummaryCalls } from "./fall.ts";
import type { ReportedLine } from "./reported-lines.ts";
import { NO_NUMBERING, type Numbering, type TurnPosition } from "./timeline.ts";
import type { TurnFacts } from "./turn.ts";

/** The turns of one window. Tokens, epoch ms. */
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

/** The levels of a run of events. Summaries of consecutive runs join into the summary of all of them. */
export interface Summary {
  turns: number;
  /** With the ends of tool calls. */
  marks: number;
  /** The first turn that reached the highest level. */
  peak: Peak | undefined;
  peakUtilization: number | undefined;
  /** By window index, ascending. */
  windows: readonly WindowSummary[];
}

/**
 * Everything the next event of an agent depends on. Bounded in size and plain JSON: the server stores it with the agent,
 * so an event in order costs one step and no read of the history.
 */
export interface AgentState {
  tail: TurnPosition | undefined;
  lastTurnAt: number | undefined;
  /** The latest mark or end of a tool call in time, with the highest window of any of them. */
  lastMark: { window: number; at: number; id: string } | undefined;
  numbering: Numbering;
  /** The window size last reported for each model, and whether a prompt exceeded it. */
  reported: readonly { model: string; tokens: number; refuted?: true }[];
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
  recent: readonly number[];
  above: readonly ThresholdName[];
  /** Boundaries since the latest counted turn, which wait for the next level; see `withPending`. */
  pending: readonly PendingBoundary[];
  /** Events since the first of `pending` or `unmatched`, that one included; at most `MOST_WAITED`. */
  waited: number;
  /** The latest levels, oldest first, with the crossings at each: a report may name one of them. */
  levels: readonly KnownLevel[];
  /** Reports since the latest level that match no level yet; the next level may be the one they mean. */
  unmatched: readonly CrossingReport[];
  /** Thresholds as the harness reported them. */
  reportedLines: readonly ReportedLine[];
  /** Generation of the policy in force at the latest counted turn; 0 without a policy. */
  generation: number;
  /** The latest turns that another witness may report too; empty while the harness alone reported turns. */
  traces: readonly ReportTrace[];
  /** Undefined while the latest counted turn does not say what it read from a cache. */
  cached: CachedPrompt | undefined;
  sinceFall: SinceFall;
  /** Calls that compact since the latest fall: the next one is what they were for. */
  summaryCalls: SummaryCalls | undefined;
}

export interface TurnReading {
  /** The call, with what other reports add to it. */
  turn: TurnFacts;
  /** What was reported under the id of the turn. The same object if no other report adds to it. */
  report: TurnFacts;
  /** Whether the report counts nowhere: another turn stands for its call, or it is the end of a tool call. */
  isRepeat: boolean;
  window: number;
  contextTokens: number | undefined;
  windowTokens: number | undefined;
  windowSource: WindowSource;
  utilization: number | undefined;
  rebuild: CacheRebuild | undefined;
}

export interface BoundaryReading {
  id: string;
  type: string;
  /** Epoch ms. */
  at: number;
  window: number;
  tokensBefore: number | undefined;
  tokensAfter: number | undefined;
  /** Of the latest boundary before a level, once that is known. */
  fall?: FallFacts;
}

/** A boundary that waits for the next level. */
export interface PendingBoundary extends BoundaryReading {
  /** Whether some report of it gave `tokensBefore`; otherwise it is the level of the turn before. */
  statesBefore: boolean;
  survived: Survived | undefined;
}

/** A boundary nobody sent: the level fell, or the window index moved, without a word. */
export interface InferredBoundary extends BoundaryReading {
  type: "unexplained" | "restarted";
  hint: FallHint | undefined;
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
  waited: 0,
  levels: [],
  unmatched: [],
  reportedLines: [],
  generation: 0,
  traces: [],
  cached: undefined,
  sinceFall: NO_FALL,
  summaryCalls: undefined,
};

/** Time of the latest event that a state has seen. Epoch ms; negative infinity if it has seen none. */
export function latestEventAt({ lastTurnAt, lastMark }: AgentState): number {
  return Math.max(lastTurnAt ?? Number.NEGATIVE_INFINITY, lastMark?.at ?? Number.NEGATIVE_INFINITY);
}
