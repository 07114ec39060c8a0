import { LARGEST, LONGEST } from "@plimsoll/protocol/pure";

/** A reading of one limit of an account, as an event has it. */
export interface QuotaReading {
  provider: string;
  limit: string;
  window_minutes?: number;
  used_percent: number;
  /** Epoch ms. */
  resets_at: number;
}

/** Most minutes of a window that the server takes: a leap year. */
const LONGEST_MINUTES = 366 * 24 * 60;

/**
 * A reading from what a harness wrote.
 * @param resetsAt epoch seconds
 * @returns undefined without a use or a reset: without the latter, nothing tells one window from the next
 */
export function quotaReading(
  provider: string,
  limit: string,
  usedPercent: number | undefined,
  resetsAt: number | undefined,
  windowMinutes?: number,
): QuotaReading | undefined {
  const resets_at = Math.round((resetsAt ?? Number.NaN) * 1_000);
  if (usedPercent === undefined || usedPercent < 0 || usedPercent > LARGEST.quotaPercent) return undefined;
  if (!(resets_at > Date.UTC(2000, 0, 1) && resets_at < Date.UTC(2100, 0, 1))) return undefined;
  const isLength = windowMinutes !== undefined && windowMinutes >= 1 && windowMinutes <= LONGEST_MINUTES;
  return {
    provider,
    limit: limit.slice(0, LONGEST.quota),
    ...(isLength && { window_minutes: Math.round(windowMinutes) }),
    used_percent: usedPercent,
    resets_at,
  };
}

/** Readings of one percent this long after one another are events of their own, so that the newest one is recent. */
const SLOT_MS = 15 * 60_000;

/**
 * The id of a reading: the same for those of one percent in a quarter of an hour, which say the same.
 * @param at when it was read, epoch ms
 */
export function quotaId(
  { limit, window_minutes = 0, used_percent, resets_at }: QuotaReading,
  at: number,
): string {
  const percent = Math.floor(used_percent);
  return `quota/${limit}/${window_minutes}/${Math.round(resets_at / 60_000)}/${percent}/${Math.floor(at / SLOT_MS)}`;
}
