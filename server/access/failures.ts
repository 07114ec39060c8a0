import { LRUCache } from "lru-cache";

/** Counts failures by address and says when one has had too many. Bounded in memory. */
export interface FailureLimit {
  /** Milliseconds until `address` may try again; 0 when it may now. */
  waitFor(address: string): number;
  fail(address: string): void;
}

export function createFailureLimit(options: {
  max: number;
  windowMs: number;
  now: () => number;
}): FailureLimit {
  const { max, windowMs, now } = options;
  const windows = new LRUCache<string, { count: number; endsAt: number }>({ max: 1_000 });
  const current = (address: string) => {
    const window = windows.get(address);
    return window && window.endsAt > now() ? window : undefined;
  };
  return {
    waitFor(address) {
      const window = current(address);
      return window && window.count >= max ? window.endsAt - now() : 0;
    },
    fail(address) {
      const window = current(address);
      if (window) window.count++;
      else windows.set(address, { count: 1, endsAt: now() + windowMs });
    },
  };
}
