import { setTimeout as sleep } from "node:timers/promises";

/** Waits until it holds; what is awaited happens behind an answer, so no moment is right to look. `limit` in ms. */
export async function until(what: () => boolean | Promise<boolean>, limit = 60_000): Promise<void> {
  const deadline = Date.now() + limit;
  while (!(await what())) {
    if (Date.now() > deadline) throw new Error(`waited in vain for: ${what}`);
    await sleep(25);
  }
}
