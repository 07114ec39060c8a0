import { LRUCache } from "lru-cache";
import { PlimsollError } from "../errors.ts";

/** Bounds how much each key may do. */
export interface Quota {
  /**
   * @param keyId undefined for a person, who has no quota
   * @throws PlimsollError `quota_exceeded` with `details.retry_after_seconds` in seconds; nothing is taken then
   */
  take(keyId: string | undefined, amount: number): void;
}

/** What is left of a key's allowance, and when that was so, in ms. */
interface Allowance {
  left: number;
  at: number;
}

/** An allowance refills evenly and holds this many seconds' worth, so that a burst after a pause gets through. */
const BURST_SECONDS = 10;

/** The allowance after some time has refilled it. Pure. */
export function refilled(allowance: Allowance | undefined, perSecond: number, now: number): Allowance {
  const most = perSecond * BURST_SECONDS;
  if (allowance === undefined) return { left: most, at: now };
  return { left: Math.min(most, allowance.left + ((now - allowance.at) / 1_000) * perSecond), at: now };
}

/** Bounds the events that each key may send; 0 is no bound. */
export const eventQuota = (perSecond: number, clock: () => number): Quota =>
  createQuota(
    perSecond,
    clock,
    (seconds) =>
      `This key may send ${perSecond} events a second. Nothing was stored; send again after ${seconds} s.`,
  );

/** Bounds the API calls of each key, besides sending events; 0 is no bound. */
export const readQuota = (perSecond: number, clock: () => number): Quota =>
  createQuota(
    perSecond,
    clock,
    (seconds) => `This key may make ${perSecond} calls a second. Try again after ${seconds} s.`,
  );

function createQuota(perSecond: number, clock: () => number, refusal: (seconds: number) => string): Quota {
  if (perSecond === 0) return { take: () => {} };
  const allowances = new LRUCache<string, Allowance>({ max: 10_000 });
  return {
    take(keyId, amount) {
      if (keyId === undefined) return;
      const now = clock();
      const allowance = refilled(allowances.get(keyId), perSecond, now);
      // A batch larger than the whole burst would never fit: it may overdraw a full allowance.
      const needed = Math.min(amount, perSecond * BURST_SECONDS);
      if (allowance.left < needed) {
        const retryAfter = Math.max(1, Math.ceil((needed - allowance.left) / perSecond));
        throw new PlimsollError("quota_exceeded", refusal(retryAfter), {
          details: { retry_after_seconds: retryAfter },
        });
      }
      allowances.set(keyId, { left: allowance.left - amount, at: now });
    },
  };
}
