export interface Coalescer<T> {
  push(item: T): void;
  /** Drops what is waiting and never flushes again. */
  stop(): void;
}

/**
 * Hands over what arrived in batches: the first at once (or, with `delay`, after that many ms), the rest at most every
 * `interval` ms, and never while the batch before is still being worked off. So a burst costs one refetch after
 * another, not a pile of cancelled ones.
 */
export function coalesce<T>(
  interval: number,
  flush: (items: T[]) => Promise<unknown> | undefined,
  delay = 0,
): Coalescer<T> {
  let waiting: T[] = [];
  let busy = false;
  let stopped = false;

  async function run(): Promise<void> {
    busy = true;
    if (delay > 0) await new Promise((done) => setTimeout(done, delay));
    while (waiting.length > 0 && !stopped) {
      const items = waiting;
      waiting = [];
      const rest = new Promise((done) => setTimeout(done, interval));
      // A failed refetch shows itself on the page; the next batch must still be worked off.
      await Promise.allSettled([flush(items), rest]);
    }
    busy = false;
  }

  return {
    push(item) {
      if (stopped) return;
      waiting.push(item);
      if (!busy) void run();
    },
    stop() {
      stopped = true;
      waiting = [];
    },
  };
}
