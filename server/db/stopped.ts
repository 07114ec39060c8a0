import { PlimsollError } from "../errors.ts";

/** @throws PlimsollError `stopped` once the signal is given */
export function throwIfStopped(signal: AbortSignal): void {
  if (signal.aborted) throw new PlimsollError("stopped", "Plimsoll was stopped while it was starting.");
}
