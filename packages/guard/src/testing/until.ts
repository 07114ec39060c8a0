import { setTimeout as sleep } from "node:timers/promises";
import { vi } from "vitest";

/** Milliseconds that a busy machine may need for anything that a test waits for. */
const LIMIT = 120_000;
const INTERVAL = 25;

/** Waits until it holds; what is awaited happens behind an answer, so no moment is right to look. `limit` in ms. */
export async function until(what: () => boolean | Promise<boolean>, limit = LIMIT): Promise<void> {
  const deadline = Date.now() + limit;
  while (!(await what())) {
    if (Date.now() > deadline) throw new Error(`waited in vain for: ${what}`);
    await sleep(INTERVAL);
  }
}

/** Repeats expectations until none of them fails. By itself, `vi.waitFor` gives up after a second. */
export const untilPasses = <T>(expectations: () => T | Promise<T>): Promise<T> =>
  vi.waitFor(expectations, { timeout: LIMIT, interval: INTERVAL });
