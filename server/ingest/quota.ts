import { LRUCache } from "lru-cache";
import { PlimsollError } from "../errors.ts";

export interface Quota {
  /** @throws PlimsollError `quota_exceeded` with `details.retry_after_seconds` in seconds; nothing is taken then */
  take(sender: string, events: number): void;
}

/** What is left of a sender's allowance, in events, and when that was so, in ms. */
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

/** Bounds what each key may send, in events a second; 0 is no bound. */
export function createQuota(perSecond: number, clock: () => number): Quota {
  if (perSecond === 0) return { take: () => {} };
  const allowances = new LRUCache<string, Allowance>({ max: 10_000 });
  return {
    take(sender, events) {
      const now = clock();
      const allowance = refilled(allowances.get(sender), perSecond, now);
      // A batch larger than the whole burst would never fit: it may overdraw a full allowance.
      const needed = Math.min(events, perSecond * BURST_SECONDS);
      if (allowance.left < needed) {
        const retryAfter = Math.max(1, Math.ceil((needed - allowance.left) / perSecond));
        throw new PlimsollError(
          "quota_exceeded",
          `This key may send ${perSecond} events a second. Nothing was stored; send again after ${retryAfter} s.`,
          { details: { retry_after_seconds: retryAfter } },
        );
      }
      allowances.set(sender, { left: allowance.left - events, at: now });
    },
  };
}
