import { timeLimit } from "@plimsoll/protocol/pure";

/** Longest time that a summary may take unless the caller sets another, in ms. */
export const SUMMARIZE_MS = 60_000;

/**
 * Runs `work` for at most `ms`. The signal that it gets ends then, and with `outer`.
 * @throws the reason of the signal, even if `work` never settles
 */
export async function inTime<T>(
  work: (signal: AbortSignal) => Promise<T> | T,
  ms: number = SUMMARIZE_MS,
  outer?: AbortSignal | undefined,
): Promise<T> {
  const signal = timeLimit(ms, outer);
  return Promise.race([Promise.resolve(work(signal)), ended(signal)]);
}

/** Rejects when a signal ends. */
function ended(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    else signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}
