import type { SpendingDay } from "@plimsoll/protocol/api";

/** Fewer days with turns do not show what is usual. */
const LEAST_DAYS = 3;

/**
 * What a usual day costs: the median of the whole days with turns.
 * @param days oldest first; the last one is not over
 * @returns US dollars; undefined after fewer than three such days, or if most of them cost nothing
 */
export function usualDay(days: readonly SpendingDay[]): number | undefined {
  const costs = days
    .slice(0, -1)
    .filter(({ turns }) => turns > 0)
    .map(({ cost_usd, estimated_cost_usd }) => cost_usd + estimated_cost_usd)
    .sort((a, b) => a - b);
  if (costs.length < LEAST_DAYS) return undefined;
  const middle = costs.length / 2;
  const median = (costs[Math.ceil(middle) - 1]! + costs[Math.floor(middle)]!) / 2;
  return median > 0 ? median : undefined;
}

/** A limit in US dollars: in cents, and never zero. */
export const twice = (usd: number): number => Math.max(0.01, Math.round(2 * usd * 100) / 100);
