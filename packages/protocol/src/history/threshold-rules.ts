export const THRESHOLD_NAMES = ["warning", "ceiling", "soft", "hard", "reserve"] as const;
export type ThresholdName = (typeof THRESHOLD_NAMES)[number];

/**
 * A threshold as people write it: `null` is off, `"15%"` a share of the window, a positive number a count of context
 * tokens, a negative one tokens that must remain free.
 */
export type ThresholdValue = string | number | null;
export type Thresholds = Record<ThresholdName, ThresholdValue>;

/** The defaults of the four source designs, used where no policy says otherwise. */
export const DEFAULT_THRESHOLDS: Thresholds = {
  warning: "15%",
  ceiling: "20%",
  soft: "70%",
  hard: "90%",
  reserve: null,
};

/**
 * A threshold in tokens for a window of the given size, or undefined when it is off or needs a window size that is
 * unknown. `reserve` names what must stay free, so its limit is the window less that share.
 */
export function thresholdTokens(
  name: ThresholdName,
  value: ThresholdValue,
  windowTokens: number | undefined,
): number | undefined {
  if (value === null) return undefined;
  if (typeof value === "string") {
    if (windowTokens === undefined) return undefined;
    const share = Number.parseFloat(value) / 100;
    return Math.round(windowTokens * (name === "reserve" ? 1 - share : share));
  }
  const free = name === "reserve" ? Math.abs(value) : value < 0 ? -value : undefined;
  if (free === undefined) return value;
  return windowTokens === undefined ? undefined : Math.max(0, windowTokens - free);
}

export interface Line {
  threshold: ThresholdName;
  tokens: number;
}

/** The threshold at which something decisive happens to the agent: ceiling when set, else hard, else the reserve. */
export function lineOf(thresholds: Thresholds, windowTokens: number | undefined): Line | undefined {
  for (const threshold of ["ceiling", "hard", "reserve"] as const) {
    const tokens = thresholdTokens(threshold, thresholds[threshold], windowTokens);
    if (tokens !== undefined && tokens > 0) return { threshold, tokens };
  }
  return undefined;
}

/** Context tokens ÷ tokens at the line; may exceed 1. Undefined when either is unknown. */
export function loadOf(contextTokens: number | undefined, line: Line | undefined): number | undefined {
  return contextTokens === undefined || line === undefined ? undefined : contextTokens / line.tokens;
}
