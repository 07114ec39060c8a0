import type { Received } from "../plan/group-events.ts";
import type { RequestOutcome } from "../plan/outcomes.ts";
import type { Command, JournalEntry } from "./journal-entry.ts";

/** A row of the journal, in memory. */
export interface JournaledEntry {
  id: string;
  /** Epoch ms by the database's clock. */
  receivedAt: number;
  entry: JournalEntry;
  /** The requests whose events the entry holds, in order; one request if absent. */
  requests?: readonly JournaledRequest[];
}

export interface JournaledRequest {
  events: number;
  /** Called with the outcome once the events are projected. */
  done?: ((outcome: RequestOutcome) => void) | undefined;
}

/** Entries that are projected in one transaction. */
export interface Chunk {
  entries: JournaledEntry[];
  events: number;
}

/**
 * Journal entries in memory: waiting, or taken and not committed. Entries leave in the order of receipt. While the queue is
 * behind, the journal holds older rows that were not read: then new entries stay in the journal, and those in memory wait
 * for the older ones, because an entry that overtakes another makes the events of that one late.
 */
export class EntryQueue {
  /** It is full with so many events. */
  readonly #capacity: number;
  #entries: JournaledEntry[] = [];
  /** Ids of waiting and taken entries. */
  readonly #ids = new Set<string>();
  /** Ids of entries whose journal commit is under way. */
  readonly #reserved = new Set<string>();
  #events = 0;
  #waiting = 0;
  #left = 0;
  #isBehind = false;
  /** While behind: the time of receipt up to which the journal was read. Epoch ms. */
  #readUpTo = Number.NEGATIVE_INFINITY;
  /** When the newest entry that was ever added was received. Epoch ms. */
  #newest = Number.NEGATIVE_INFINITY;
  #awaited = false;
  /** Senders in this process of entries that were left to the journal, by entry, and of those left before the last whole read. */
  #senders = new Map<string, readonly JournaledRequest[]>();
  #earlierSenders = this.#senders;
  #waiters: { ids: Set<string>; resolve: () => void }[] = [];

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  /** Events waiting or taken. */
  get events(): number {
    return this.#events;
  }

  /** Events waiting, and those that were left to the journal and not read since. */
  get waiting(): number {
    return this.#waiting + this.#left;
  }

  get isFull(): boolean {
    return this.#events >= this.#capacity;
  }

  get isEmpty(): boolean {
    return this.#entries.length === 0;
  }

  /** Whether a sender or a reader waits for an entry. */
  get isAwaited(): boolean {
    return this.#awaited || this.#waiters.length > 0;
  }

  get ids(): string[] {
    return [...this.#ids, ...this.#reserved];
  }

  /** Announces an entry, so that nobody reads its row from the journal before it is added with its senders. */
  reserve(id: string): void {
    this.#reserved.add(id);
  }

  /** Ends what `reserve` began, if the entry is not added. */
  unreserve(id: string): void {
    this.#reserved.delete(id);
  }

  /** The journal holds rows of before, with so many events. */
  fallBehind(events: number): void {
    this.#isBehind = true;
    this.#readUpTo = Number.NEGATIVE_INFINITY;
    this.#left = events;
  }

  /** Takes an entry of this process if it fits and the journal holds no older one. */
  offer(entry: JournaledEntry): "taken" | "left_to_journal" {
    if (!this.#isBehind && !this.isFull) {
      this.#add(entry);
      return "taken";
    }
    if (!this.#isBehind) {
      this.#isBehind = true;
      this.#readUpTo = this.#newest;
    }
    this.#reserved.delete(entry.id);
    this.#left += entry.entry.events.length;
    if (entry.requests?.some(isAwaited)) this.#senders.set(entry.id, entry.requests);
    return "left_to_journal";
  }

  /**
   * Adds entries that were read from the journal. `complete` if it held no more. Returns the number of those that were not
   * in memory; an entry that is reserved comes by itself, with its senders.
   */
  addRead(entries: readonly JournaledEntry[], complete: boolean): number {
    const missing = entries.filter(({ id }) => !this.#ids.has(id) && !this.#reserved.has(id));
    for (const entry of missing) {
      this.#left = Math.max(0, this.#left - entry.entry.events.length);
      const requests = this.#sendersOf(entry.id);
      this.#add(requests === undefined ? entry : { ...entry, requests });
      this.#readUpTo = Math.max(this.#readUpTo, entry.receivedAt);
    }
    this.#isBehind = !complete;
    if (complete) {
      this.#left = 0;
      // A row that a whole read did not find may have come during it; the next whole read finds it, or nobody does.
      this.#earlierSenders = this.#senders;
      this.#senders = new Map();
    }
    return missing.length;
  }

  #sendersOf(id: string): readonly JournaledRequest[] | undefined {
    const requests = this.#senders.get(id) ?? this.#earlierSenders.get(id);
    this.#senders.delete(id);
    this.#earlierSenders.delete(id);
    return requests;
  }

  /** Unless it is there already. */
  #add(added: JournaledEntry): void {
    this.#reserved.delete(added.id);
    if (this.#ids.has(added.id)) return;
    // Entries of other processes are read later than they were received.
    const before = this.#entries.findLastIndex(({ receivedAt }) => receivedAt <= added.receivedAt);
    this.#entries.splice(before + 1, 0, added);
    this.#ids.add(added.id);
    this.#newest = Math.max(this.#newest, added.receivedAt);
    this.#events += added.entry.events.length;
    this.#waiting += added.entry.events.length;
    this.#awaited ||= added.entry.reply !== undefined || added.entry.commands !== undefined;
    this.#awaited ||= added.requests?.some(isAwaited) ?? false;
  }

  /**
   * The next entries of at most so many events; commands come alone. Returns undefined if nothing waits, and if older rows
   * have to be read first.
   */
  take(most: number): Chunk | undefined {
    let events = 0;
    let taken = 0;
    for (const { entry, receivedAt } of this.#entries) {
      if (this.#isBehind && receivedAt > this.#readUpTo) break;
      const alone = entry.commands !== undefined;
      if (taken > 0 && (alone || events + entry.events.length > most)) break;
      events += entry.events.length;
      taken += 1;
      if (alone) break;
    }
    if (taken === 0) return undefined;
    this.#awaited = false;
    this.#waiting -= events;
    return { entries: this.#entries.splice(0, taken), events };
  }

  /** Returns a taken chunk to the front. */
  putBack({ entries, events }: Chunk): void {
    this.#entries.unshift(...entries);
    this.#waiting += events;
  }

  /** Forgets a committed chunk. */
  release({ entries, events }: Chunk): void {
    for (const { id } of entries) this.#ids.delete(id);
    this.#events -= events;
    this.#waiters = this.#waiters.filter(({ ids, resolve }) => {
      for (const { id } of entries) ids.delete(id);
      if (ids.size > 0) return true;
      resolve();
      return false;
    });
  }

  /** Forgets every waiting entry. Returns whether there was one. */
  clear(): boolean {
    const some = this.#entries.length > 0;
    this.release({ entries: this.#entries.splice(0), events: this.#events });
    this.#waiting = 0;
    this.#left = 0;
    this.#isBehind = false;
    this.#senders.clear();
    this.#earlierSenders.clear();
    return some;
  }

  /** Resolves when none of the entries is in memory any more. */
  gone(ids: readonly string[]): Promise<void> {
    const waiting = new Set(ids.filter((id) => this.#ids.has(id)));
    if (waiting.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.#waiters.push({ ids: waiting, resolve }));
  }
}

const isAwaited = ({ done }: JournaledRequest): boolean => done !== undefined;

/** The commands of a chunk; undefined if it holds events. */
export function commandsOf({ entries }: Chunk): readonly Command[] | undefined {
  return entries[0]?.entry.commands;
}

const ONE_REQUEST: JournaledRequest = { events: 0 };
const NO_EVENTS: RequestOutcome = { accepted: 0, duplicates: 0 };

/**
 * Answers the senders in this process that wait for a committed chunk. Returns the outcomes for senders that wait on
 * another server. `outcomes` has the numbers that `receivedOf` gives the requests.
 */
export function answerSenders(
  { entries }: Chunk,
  outcomes: ReadonlyMap<number, RequestOutcome>,
): (RequestOutcome & { reply: string })[] {
  const replies: (RequestOutcome & { reply: string })[] = [];
  let request = 0;
  for (const { entry, requests } of entries) {
    for (const { done } of requests ?? [ONE_REQUEST]) {
      const outcome = outcomes.get(request) ?? NO_EVENTS;
      done?.(outcome);
      if (entry.reply !== undefined) replies.push({ reply: entry.reply, ...outcome });
      request += 1;
    }
  }
  return replies;
}

/** The events of a chunk, by request. Requests are numbered in order. */
export function receivedOf({ entries }: Chunk): Received[] {
  const received: Received[] = [];
  for (const { entry, receivedAt, requests } of entries) {
    let next = 0;
    for (const { events } of requests ?? [{ events: entry.events.length }]) {
      const request = received.length;
      received.push({ events: entry.events.slice(next, next + events), request, receivedAt });
      next += events;
    }
  }
  return received;
}

/** Refusals that the entries count, by code. */
export function refusedOf({ entries }: Chunk): Map<string, number> {
  const refused = new Map<string, number>();
  for (const { entry } of entries) {
    for (const [code, count] of Object.entries(entry.refused ?? {})) {
      refused.set(code, (refused.get(code) ?? 0) + count);
    }
  }
  return refused;
}
