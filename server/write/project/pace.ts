import type { EntryQueue } from "../journal/entry-queue.ts";

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

/** The shortest pause between two chunks while nobody waits for them and few events wait, in ms. */
const PACE_MS = 100;
/**
 * The pause as a multiple of the time that the last chunk took: projecting takes at most a quarter of the time. Every chunk
 * writes each of its agents once, so fewer and larger chunks cost less, most of all on a slow machine.
 */
const PACE_SHARE = 3;
/**
 * Milliseconds that an event of the last chunk adds to the shortest pause, at most. A chunk of few events that takes long waits for
 * other programs, and a pause would only delay its alerts.
 */
const PACE_MS_PER_EVENT = 1;
/** The longest pause in ms while somebody watches the project. */
const MOST_PACE_MS = 1_000;
/** The pause in ms while nobody does. A reader ends it. */
const UNWATCHED_PACE_MS = 3_000;
/** So many waiting events are projected without delay. */
const ENOUGH_EVENTS = 20_000;

/** A chunk that takes so many milliseconds is too large for the machine. Readers wait, and a failure repeats all of it. */
const LONG_CHUNK_MS = 2_000;
/** The fewest events to which chunks shrink by their time alone. */
const FEWEST_EVENTS = 500;

/** The chunk that was committed last. */
export interface LastChunk {
  /** Milliseconds, by the same clock as `now`. */
  endedAt: number;
  /** How long it took from the start of its planning to its commit. */
  ms: number;
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
  { endedAt, ms, events, isWatched }: LastChunk & { isWatched: boolean },
  now: number,
): number {
  if (queue.isEmpty || isUrgent(queue)) return 0;
  const most = Math.min(PACE_MS + PACE_MS_PER_EVENT * events, MOST_PACE_MS);
  const pace = isWatched ? Math.min(Math.max(PACE_MS, PACE_SHARE * ms), most) : UNWATCHED_PACE_MS;
  return Math.max(0, endedAt + pace - now);
}

/** The most events of a chunk after one of so many took `ms`: fewer after a long one, twice as many after a short one. */
export function mostEventsAfter(most: number, { events, ms }: { events: number; ms: number }): number {
  if (ms > LONG_CHUNK_MS) {
    const fitting = Math.floor((events * LONG_CHUNK_MS) / ms);
    return Math.min(most, Math.max(FEWEST_EVENTS, fitting));
  }
  return ms < LONG_CHUNK_MS / 2 ? most * 2 : most;
}
