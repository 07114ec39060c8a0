/** How waits between attempts grow. */
export interface Backoff {
  /** The first wait in ms, above 0. It doubles with each failure. */
  firstMs: number;
  /** The longest wait in ms. */
  mostMs: number;
}

/**
 * Exponential backoff: the time to wait before the next attempt, in ms. Each wait is shortened by up to a half at random, so
 * that senders that failed together do not return together.
 * @param failures in a row, from 1
 * @param random from 0 to 1
 * @example
 * backoffMs(3, { firstMs: 500, mostMs: 60_000 }, Math.random()); // 1,000 to 2,000
 */
export function backoffMs(failures: number, { firstMs, mostMs }: Backoff, random: number): number {
  return Math.min(mostMs, firstMs * 2 ** (failures - 1)) * (1 - random / 2);
}
