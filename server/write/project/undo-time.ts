/** Milliseconds for which people are offered to undo a deletion. */
export const UNDO_MS = 10_000;
/** Milliseconds for which an undo is accepted: a click at the last moment needs time to arrive. */
export const UNDO_ACCEPTED_MS = 12_000;
/** Milliseconds after which rows are removed. Longer than undo is accepted, so that the two never meet. */
export const REMOVE_AFTER_MS = 15_000;
