import { SAME_CALL_MS } from "@plimsoll/fold";
import { STOP_REASONS, type StopReason } from "@plimsoll/protocol/pure";

/** Why a call ended, and when. Epoch ms. */
export interface Stop {
  at: number;
  reason: StopReason;
}

/** The later of two stops; of two at one time, the one that comes later in `STOP_REASONS`. It does not depend on their order. */
export function laterStop(a: Stop | undefined, b: Stop | undefined): Stop | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  if (a.at !== b.at) return a.at > b.at ? a : b;
  return STOP_REASONS.indexOf(a.reason) > STOP_REASONS.indexOf(b.reason) ? a : b;
}

/**
 * The stop of the latest call; undefined if that call came without one. Another report of the call may have it, so a stop counts for
 * calls that follow within the time in which reports of one call come.
 * @param calledAt of the latest call, epoch ms
 */
export function stopOfLatestCall(stop: Stop | undefined, calledAt: number | undefined): Stop | undefined {
  return stop !== undefined && (calledAt ?? stop.at) - stop.at <= SAME_CALL_MS ? stop : undefined;
}
