export const THRESHOLD_NAMES = ["warning", "ceiling", "soft", "hard", "reserve"] as const;
export type ThresholdName = (typeof THRESHOLD_NAMES)[number];

/** A share of the window that is never fewer than `floor` tokens. */
export interface ShareWithFloor {
  /** Above 0 and at most 100. */
  percent: number;
  /** Tokens. */
  floor: number;
}

/**
 * A threshold as people write it: `null` is off, `"15%"` a share of the window, `{ percent: 15, floor: 40_000 }` a share with
 * an absolute floor, a positive number a count of context tokens, a negative one tokens that must remain free.
 */
export type ThresholdValue = string | number | ShareWithFloor | null;
export type Thresholds = Record<ThresholdName, ThresholdValue>;

/** The defaults of the four source designs, used where no policy says otherwise. */
export const DEFAULT_THRESHOLDS: Thresholds = {
  warning: "15%",
  ceiling: "20%",
  soft: "70%",
  hard: "90%",
  reserve: null,
};

/** Pairs of thresholds of which the first must be crossed before the second. */
export const THRESHOLD_ORDER: readonly (readonly [ThresholdName, ThresholdName])[] = [
  ["warning", "ceiling"],
  ["warning", "hard"],
  ["soft", "hard"],
  ["ceiling", "hard"],
];

/**
 * A threshold in tokens for a window of the given size, or undefined when it is off or needs a window size that is
 * unknown. `reserve` names what must stay free, so its limit is the window less that share. A floor above the window
 * means the window's end.
 */
export function thresholdTokens(
  name: ThresholdName,
  value: ThresholdValue,
  windowTokens: number | undefined,
): number | undefined {
  if (value === null) return undefined;
  if (typeof value !== "number") {
    if (windowTokens === undefined) return undefined;
    const { percent, floor } =
      typeof value === "string" ? { percent: Number.parseFloat(value), floor: 0 } : value;
    const tokens = Math.min(windowTokens, Math.max((windowTokens * percent) / 100, floor));
    return Math.round(name === "reserve" ? windowTokens - tokens : tokens);
  }
  const free = name === "reserve" ? Math.abs(value) : value < 0 ? -value : undefined;
  if (free === undefined) return value;
  return windowTokens === undefined ? undefined : Math.max(0, windowTokens - free);
}

/** A threshold as text, such as `15%` or `15%, at least 40000`. */
export function thresholdText(value: ThresholdValue): string {
  if (value === null) return "off";
  return typeof value === "object" ? `${value.percent}%, at least ${value.floor}` : String(value);
}

export interface Line {
  threshold: Extract<ThresholdName, "ceiling" | "hard" | "reserve">;
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
