import { SLOT_MS } from "../../db/tables/buckets.ts";
import { DAY_MS, HOUR_MS } from "../../times.ts";

/** Milliseconds that sessions are kept longer, so that no event that is still in the journal is older than the cut. */
const GRACE_MS = HOUR_MS;

/** Sessions whose last event is before this time are removed; a multiple of `SLOT_MS`. Epoch ms. */
export function sessionCut(now: number, days: number): number {
  return Math.floor((now - days * DAY_MS - GRACE_MS) / SLOT_MS) * SLOT_MS;
}

/** Events before this time are refused: their session may be removed already. Epoch ms. */
export function eventCut(now: number, days: number): number {
  return now - days * DAY_MS;
}

/**
 * Rollups before this time are removed; the start of a UTC day. Epoch ms. Rollups of a session outlive it, however long it
 * goes on: so they are never corrected after they are gone.
 * @param firstAt the first event of any session that is left
 */
export function rollupCut(now: number, days: number, firstAt: number | undefined): number {
  const cut = Math.min(now - days * DAY_MS, firstAt ?? Number.POSITIVE_INFINITY);
  return Math.floor(cut / DAY_MS) * DAY_MS;
}
