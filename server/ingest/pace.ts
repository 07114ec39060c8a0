import type { EntryQueue } from "./entry-queue.ts";

/** How many events are held at most. */
export interface Sizes {
  /** In one transaction, if that many wait. A larger chunk costs less per event, but readers wait longer for it. */
  chunk: number;
  /** Not planned yet. With more, senders wait. */
  waiting: number;
}

/** Sizes while only this process fills the journal. */
export const ALONE: Sizes = { chunk: 48_000, waiting: 56_000 };
/**
 * Sizes while several processes fill the journal. The other processes learn outcomes only at a commit, and the events that
 * wait in this process delay theirs.
 */
export const SHARED: Sizes = { chunk: 24_000, waiting: 32_000 };
/** Events held in memory: those admitted, a chunk being planned and one being written. The journal has the rest. */
export const QUEUE_EVENTS = 192_000;

/**
 * Milliseconds between two chunks while nobody waits for them and few events wait. Every chunk writes each of its agents
 * once, so fewer and larger chunks are worth a short delay.
 */
const PACE_MS = 100;
/** Milliseconds more for each event of the last chunk. */
const PACE_MS_PER_EVENT = 0.1;
/** The longest delay in milliseconds. */
const MOST_PACE_MS = 400;
/** So many waiting events are projected without delay. */
const ENOUGH_EVENTS = 20_000;

/** The chunk that was taken last. */
export interface LastChunk {
  /** Milliseconds, by the same clock as `now`. */
  takenAt: number;
  events: number;
}

/** The sizes for this process: whether it projects, and whether other processes fill the journal too. */
export function sizesFor({ holding, shared }: { holding: boolean; shared: boolean }): Sizes {
  return holding && !shared ? ALONE : SHARED;
}

/** Whether somebody waits for what is queued, or enough of it is there. */
export function isUrgent({ isAwaited, waiting }: Pick<EntryQueue, "isAwaited" | "waiting">): boolean {
  return isAwaited || waiting >= ENOUGH_EVENTS;
}

/** Milliseconds until the next chunk may be taken, so that small chunks grow. 0 if nothing is gained by waiting. */
export function msUntilNextChunk(
  queue: Pick<EntryQueue, "isAwaited" | "waiting" | "isEmpty">,
  last: LastChunk,
  now: number,
): number {
  if (queue.isEmpty || isUrgent(queue)) return 0;
  const pace = Math.min(PACE_MS + PACE_MS_PER_EVENT * last.events, MOST_PACE_MS);
  return Math.max(0, last.takenAt + pace - now);
}
