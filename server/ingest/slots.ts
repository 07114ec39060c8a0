/**
 * The unit of the coarse times that are indexed, in ms: an index entry is written when a session enters the next slot,
 * not with every turn.
 */
export const SLOT_MS = 300_000;

/** The slot of an instant given in epoch ms. */
export function slotOf(at: number): number {
  return Math.floor(at / SLOT_MS);
}
