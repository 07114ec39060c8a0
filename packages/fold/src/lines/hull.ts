import type { ThresholdName } from "@plimsoll/protocol/pure";

/** Where the load line is on every hull, as a share of its width. */
export const LINE_AT = 0.72;

const PAST_LINE = 1 - LINE_AT;

/**
 * The place of a load on every hull, 0 to 1: proportional up to the line. Beyond it the scale goes on at the same rate and
 * then gets closer, so that no load and no window's end is cut off.
 */
export function placeOfLoad(load: number): number {
  if (!(load > 0)) return 0;
  if (load <= 1) return load * LINE_AT;
  return 1 - PAST_LINE / (1 + ((load - 1) * LINE_AT) / PAST_LINE);
}

/** An agent as the API shows it. */
export interface HullInput {
  context_tokens: number | null;
  window_tokens: number | null;
  line: { threshold: ThresholdName; tokens: number } | null;
  thresholds: readonly { name: ThresholdName; tokens: number }[];
  peak: { tokens: number } | null;
}

export interface HullMark {
  name: ThresholdName;
  tokens: number;
  /** Share of the hull's width. */
  at: number;
}

/** What is drawn of one agent. All places are shares of the hull's width. */
export interface Hull {
  level: number;
  peak: number | null;
  /** Null if the size of the window is unknown: the hull then has no end. */
  end: number | null;
  /** Thresholds other than the line. */
  marks: HullMark[];
}

/** The drawing of an agent against its own line, or against the end of its window if it has no line. Null without both. */
export function hullOf(agent: HullInput): Hull | null {
  const { context_tokens: level, window_tokens: window, line, peak, thresholds } = agent;
  const full = line?.tokens ?? window;
  if (full === null) return null;
  const placeOf = (tokens: number) => placeOfLoad(full > 0 ? tokens / full : tokens > 0 ? Infinity : 0);
  return {
    level: placeOf(level ?? 0),
    peak: peak === null ? null : placeOf(peak.tokens),
    end: window === null ? null : placeOf(window),
    marks: thresholds
      .filter(({ name, tokens }) => name !== line?.threshold && tokens > 0)
      .map(({ name, tokens }) => ({ name, tokens, at: placeOf(tokens) })),
  };
}
