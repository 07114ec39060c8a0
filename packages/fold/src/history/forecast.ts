import type { ForecastReason } from "@plimsoll/protocol/pure";
export interface Forecast {
  reason: ForecastReason;
  /** Turns until the line at the present pace, rounded up; only with `rising`. */
  turns: number | undefined;
  /** Median growth a turn, tokens; undefined with fewer than two steps to judge by. */
  growth: number | undefined;
}

const FEWEST_STEPS = 3;
/** Growth below this share of the line a turn counts as steady: over 400 turns would pass before it is met. */
const STEADY_SHARE = 1 / 400;

/**
 * How many turns an agent has left before its line. The median of the latest steps is used, so that one huge tool
 * result does not cry wolf; `recent` holds the context tokens of turns since the level last fell, oldest first.
 */
export function forecast(recent: readonly number[], lineTokens: number | undefined): Forecast {
  const steps = recent.slice(1).map((value, index) => value - recent[index]!);
  const growth = steps.length >= 2 ? median(steps) : undefined;
  if (lineTokens === undefined) return { reason: "no_line", turns: undefined, growth };
  const now = recent.at(-1);
  if (now !== undefined && now >= lineTokens) return { reason: "over", turns: undefined, growth };
  if (now === undefined || growth === undefined || steps.length < FEWEST_STEPS) {
    return { reason: "no_trend", turns: undefined, growth };
  }
  if (growth <= lineTokens * STEADY_SHARE) return { reason: "steady", turns: undefined, growth };
  return { reason: "rising", turns: Math.ceil((lineTokens - now) / growth), growth };
}

/** The middle of some values, of which there must be one. */
export function median(values: readonly number[]): number {
  const sorted = new Float64Array(values).sort();
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

/** Fewer turns do not show a pace. */
const FEWEST_TIMES = 4;

/**
 * Minutes that some turns take at the median pace of earlier ones, so that one long pause does not count. Undefined without
 * turns, and where no pace is known.
 * @param times of turns in order, epoch ms
 */
export function minutesFor(turns: number | undefined, times: readonly number[]): number | undefined {
  if (turns === undefined || times.length < FEWEST_TIMES) return undefined;
  const pace = median(times.slice(1).map((at, index) => Math.max(0, at - times[index]!)));
  return (turns * pace) / 60_000;
}
