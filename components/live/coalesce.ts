export interface Coalescer<T> {
  push(item: T): void;
  /** Drops waiting items and stops flushing. */
  stop(): void;
}

/**
 * Flushes items in batches: the first after `delay` ms, then at most one batch every `interval` ms, one at a time.
 * A burst of changes then causes a few refetches instead of many cancelled ones.
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
      // The page shows a failed refetch. The next batch must still run.
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
