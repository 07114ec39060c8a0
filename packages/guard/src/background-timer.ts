/** Calls `run` after `ms`. On Node, the timer does not keep the process alive. */
export function backgroundTimer(run: () => void, ms: number): ReturnType<typeof setTimeout> {
  const timer = setTimeout(run, ms);
  (timer as { unref?: () => void }).unref?.();
  return timer;
}
