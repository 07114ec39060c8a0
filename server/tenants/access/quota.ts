import { LRUCache } from "lru-cache";
import { PlimsollError } from "../../errors.ts";

/** Bounds how much each key may do. */
export interface Quota {
  /**
   * Takes nothing if it refuses. Then `admit` throws until the amount fits, so that a key cannot have bodies decoded in vain.
   * @param keyId undefined for a person, who has no quota
   * @throws PlimsollError `quota_exceeded` with `details.retry_after_seconds` in seconds
   */
  take(keyId: string | undefined, amount: number): void;
  /** Takes an amount for work that was done in vain. May leave a debt, in which `admit` throws. */
  charge(keyId: string | undefined, amount: number): void;
  /** @throws PlimsollError `quota_exceeded` in debt, and while an amount that was refused does not fit; before any work is done */
  admit(keyId: string | undefined): void;
}

/** What is left of a key's allowance, and when that was so, in ms. */
interface Allowance {
  left: number;
  at: number;
  /** What was refused since anything was taken; 0 if nothing was. */
  refused?: number;
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
  if (perSecond === 0) return { take() {}, charge() {}, admit() {} };
  const allowances = new LRUCache<string, Allowance>({ max: 10_000 });
  const now = (keyId: string) => refilled(allowances.get(keyId), perSecond, clock());
  const tooLittle = (missing: number) => {
    const retryAfter = Math.max(1, Math.ceil(missing / perSecond));
    return new PlimsollError("quota_exceeded", refusal(retryAfter), {
      details: { retry_after_seconds: retryAfter },
    });
  };
  return {
    take(keyId, amount) {
      if (keyId === undefined) return;
      const { left, at } = now(keyId);
      // A batch larger than the whole burst would never fit: it may overdraw a full allowance.
      const needed = Math.min(amount, perSecond * BURST_SECONDS);
      if (left >= needed) {
        allowances.set(keyId, { left: left - amount, at });
        return;
      }
      allowances.set(keyId, { left, at, refused: needed });
      throw tooLittle(needed - left);
    },
    charge(keyId, amount) {
      if (keyId === undefined) return;
      const { left, at } = now(keyId);
      allowances.set(keyId, { left: left - amount, at });
    },
    admit(keyId) {
      if (keyId === undefined) return;
      const { refused = 0 } = allowances.get(keyId) ?? {};
      const { left } = now(keyId);
      if (left <= 0 || left < refused) throw tooLittle(refused - left);
    },
  };
}
