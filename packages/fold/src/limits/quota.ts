import type { QuotaForecastReason } from "@plimsoll/protocol/pure";

/**
 * One whole percent of a quota's use, and when it was reported. Times in epoch ms. Readings of one percent in one window of a quota
 * are one of these, whatever their number.
 */
export interface QuotaPercent {
  /** 0 to 100, or above if the provider allows more. */
  usedPercent: number;
  /** By the server's clock. */
  firstReceivedAt: number;
  /** Of the newest reading, by the clock of its machine. */
  lastAt: number;
  /** Of that reading, by the server's clock. A repeated delivery does not move it. */
  lastReceivedAt: number;
}

/** Two reports of one percent. The order and repeats do not matter. */
export function mergeQuotaPercents<Row extends QuotaPercent>(a: Row, b: Row): Row {
  const newer = b.lastAt > a.lastAt || (b.lastAt === a.lastAt && b.lastReceivedAt < a.lastReceivedAt) ? b : a;
  return { ...newer, firstReceivedAt: Math.min(a.firstReceivedAt, b.firstReceivedAt) };
}

/** A quota in its present window. Times in epoch ms. */
export interface QuotaWindow {
  /** By the provider's clock. */
  resetsAt: number;
  /** Undefined if the provider does not say. */
  windowMinutes: number | undefined;
  /** At least one, in any order. */
  percents: readonly Pick<QuotaPercent, "usedPercent" | "firstReceivedAt">[];
}

export interface QuotaForecast {
  reason: QuotaForecastReason;
  /** When the quota is used up at the present pace, epoch ms; only with `rising`. */
  endsAt: number | undefined;
}

const MINUTE_MS = 60_000;
/** The pace is that of the last tenth of a window, and of half an hour at least. */
const SPAN_SHARE = 1 / 10;
const SHORTEST_SPAN_MS = 30 * MINUTE_MS;
/** For a quota whose window is unknown. */
const UNKNOWN_SPAN_MS = 24 * 60 * MINUTE_MS;
/** Below this share of a window, its own mean says little. */
const FEWEST_SHARE = 1 / 20;
const FULL = 100;

/**
 * When a quota is used up: at the pace of the last tenth of its window if it was reported by then, else at the mean since the window
 * began. It needs no clock but those of the server and the provider.
 */
export function forecastQuota(quota: QuotaWindow, now: number): QuotaForecast {
  const without = (reason: QuotaForecastReason): QuotaForecast => ({ reason, endsAt: undefined });
  if (now >= quota.resetsAt) return without("reset");
  const used = Math.max(...quota.percents.map(({ usedPercent }) => usedPercent));
  if (used >= FULL) return without("used_up");
  const pace = recentPace(quota, used, now) ?? meanPace(quota, used, now);
  if (pace === undefined) return without("too_few_readings");
  const endsAt = now + (FULL - used) / pace;
  return endsAt < quota.resetsAt ? { reason: "rising", endsAt } : without("not_before_reset");
}

/** Percent a millisecond; undefined if nothing was reported before the span. */
function recentPace({ windowMinutes, percents }: QuotaWindow, used: number, now: number): number | undefined {
  const span =
    windowMinutes === undefined
      ? UNKNOWN_SPAN_MS
      : Math.max(SHORTEST_SPAN_MS, windowMinutes * MINUTE_MS * SPAN_SHARE);
  const before = percents.filter(({ firstReceivedAt }) => firstReceivedAt <= now - span);
  if (before.length === 0) return undefined;
  return (used - Math.max(...before.map(({ usedPercent }) => usedPercent))) / span;
}

function meanPace({ resetsAt, windowMinutes }: QuotaWindow, used: number, now: number): number | undefined {
  if (windowMinutes === undefined) return undefined;
  const length = windowMinutes * MINUTE_MS;
  const elapsed = now - (resetsAt - length);
  return elapsed < length * FEWEST_SHARE ? undefined : used / elapsed;
}
