/**
 * Aborts after so many ms, or with another signal. Without a strong reference from anywhere else, Node collects the timeout in
 * `AbortSignal.any([signal, AbortSignal.timeout(ms)])` before it fires, and what waits for it waits for ever.
 */
export function timeLimit(ms: number, signal?: AbortSignal): AbortSignal {
  const limit = new AbortController();
  const late = () => limit.abort(new DOMException(`It took more than ${ms} ms.`, "TimeoutError"));
  const timer: { unref?: () => void } | number = setTimeout(late, ms);
  if (typeof timer === "object") timer.unref?.();
  return signal === undefined ? limit.signal : AbortSignal.any([limit.signal, signal]);
}
