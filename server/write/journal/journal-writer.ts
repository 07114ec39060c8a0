import type { PlimsollEvent } from "@plimsoll/protocol/events";
import { v7 as uuid } from "uuid";
import type { DatabaseClock } from "../../db/database-clock.ts";
import type { Writers } from "../../db/sql.ts";
import { journal } from "../../db/tables/journal.ts";
import { databaseUnavailable, isUnavailable } from "../../db/unavailable.ts";
import { PlimsollError } from "../../errors.ts";
import type { JournaledEntry, JournaledRequest } from "./entry-queue.ts";
import { type Command, type JournalEntry, packEntry } from "./journal-entry.ts";

/** What one caller wants journaled. */
export interface JournalRequest {
  projectId: number;
  events: readonly PlimsollEvent[];
  refused?: Readonly<Record<string, number>>;
  commands?: readonly Command[];
  /** Set for a sender that waits for the projection, under this id. */
  reply?: string;
  done?: JournaledRequest["done"];
  /** Whether nobody waits for the answer any more: then the events are not journaled. */
  abandoned?: () => boolean;
}

export interface JournalWriterOptions {
  writers: Writers;
  clock: DatabaseClock;
  /** Called before a commit, and after one that failed. */
  reserve: (projectId: number, id: string) => void;
  unreserve: (projectId: number, id: string) => void;
  /** Called after a commit, before the callers hear of it. */
  journaled: (projectId: number, entry: JournaledEntry) => void;
  /** Called with the events of a commit and how long it took in ms. */
  measured?: (events: number, ms: number) => void;
}

/** Events in one commit; a request is never split. */
const GROUP_EVENTS = 2_000;
/** Commits of one project under way at once. The second begins only if the first is slow: fewer commits cost less. */
const COMMITS = 2;
/** Milliseconds after which a commit is slow. */
const SLOW_MS = 20;
/** Commits of all projects under way at once. */
const ALL_COMMITS = 4;
/** A group of fewer events than these, and than the last group had with what came meanwhile, waits for more. */
const SMALL_GROUP = 16;
/** Milliseconds that it waits at most. */
const GROUP_WAIT_MS = 4;
/** Milliseconds for which a group says how many requests to expect. */
const EXPECTED_MS = 50;

interface WaitingRequest {
  request: JournalRequest;
  resolve: (journaled: boolean) => void;
  reject: (error: unknown) => void;
}

/** The commits of one project. */
interface CommitQueue {
  waiting: WaitingRequest[];
  /** When the first of them arrived. Milliseconds by a clock that never goes back. */
  since: number;
  /** Under way. */
  committing: number;
  /** Of those. */
  slow: number;
}

/** Commits events to the journal in groups: requests that arrive together share one fsync. */
export class JournalWriter {
  readonly #options: JournalWriterOptions;
  /** Projects with requests or commits; the one whose turn is next comes first. */
  readonly #queues = new Map<number, CommitQueue>();
  /** Requests of each project's last group and those that arrived during its commit, with the time it ended. */
  readonly #lastGroups = new Map<number, { requests: number; endedAt: number }>();
  #queued = 0;
  #committing = 0;
  #turn: NodeJS.Immediate | undefined;
  #idle: (() => void)[] = [];

  constructor(options: JournalWriterOptions) {
    this.#options = options;
  }

  /** Events that wait for their commit. */
  get depth(): number {
    return this.#queued;
  }

  /** Resolves with true after the commit, or with false if the request was abandoned before it. */
  append(request: JournalRequest): Promise<boolean> {
    return new Promise((resolve, reject) => {
      const queue = this.#queueOf(request.projectId);
      if (queue.waiting.length === 0) queue.since = performance.now();
      queue.waiting.push({ request, resolve, reject });
      this.#queued += request.events.length;
      // Requests read in the same turn of the event loop share a commit.
      this.#turn ??= setImmediate(() => {
        this.#turn = undefined;
        this.#pump();
      });
    });
  }

  /** Resolves when nothing waits for a commit. */
  drained(): Promise<void> {
    if (this.#queues.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.#idle.push(resolve));
  }

  /** Rejects everything that is not on its way to the database. */
  refuseWaiting(error: Error): void {
    for (const { waiting } of this.#queues.values()) {
      for (const { reject } of waiting.splice(0)) reject(error);
    }
    this.#queued = 0;
    this.#pump();
  }

  #queueOf(projectId: number): CommitQueue {
    let queue = this.#queues.get(projectId);
    if (queue === undefined) {
      queue = { waiting: [], since: 0, committing: 0, slow: 0 };
      this.#queues.set(projectId, queue);
    }
    return queue;
  }

  #pump(): void {
    for (const [projectId, queue] of [...this.#queues]) {
      while (this.#committing < ALL_COMMITS && mayCommit(queue)) {
        const wait = this.#msToWait(projectId, queue);
        if (wait > 0) {
          setTimeout(() => this.#pump(), wait);
          break;
        }
        const group = this.#take(queue);
        if (group.length > 0) void this.#commitFrom(queue, group);
        // The other projects come first now.
        this.#queues.delete(projectId);
        this.#queues.set(projectId, queue);
      }
      if (queue.waiting.length === 0 && queue.committing === 0) this.#queues.delete(projectId);
    }
    if (this.#queues.size === 0) for (const idle of this.#idle.splice(0)) idle();
  }

  /**
   * Milliseconds that a small group waits for more requests. Every commit has a cost of its own, so senders that come one by
   * one share it. A lone sender never waits.
   */
  #msToWait(projectId: number, { waiting, since }: CommitQueue): number {
    const last = this.#lastGroups.get(projectId);
    const now = performance.now();
    if (last === undefined || now - last.endedAt > EXPECTED_MS) return 0;
    if (waiting.length >= Math.min(SMALL_GROUP, last.requests)) return 0;
    if (waiting.some(({ request }) => request.done !== undefined || request.events.length >= SMALL_GROUP))
      return 0;
    return Math.max(0, since + GROUP_WAIT_MS - now);
  }

  async #commitFrom(queue: CommitQueue, group: readonly WaitingRequest[]): Promise<void> {
    let isSlow = false;
    const timer = setTimeout(() => {
      isSlow = true;
      queue.slow += 1;
      this.#pump();
    }, SLOW_MS);
    queue.committing += 1;
    this.#committing += 1;
    await this.#commit(group);
    clearTimeout(timer);
    queue.committing -= 1;
    if (isSlow) queue.slow -= 1;
    this.#committing -= 1;
    this.#lastGroups.set(group[0]!.request.projectId, {
      requests: group.length + queue.waiting.length,
      endedAt: performance.now(),
    });
    this.#pump();
  }

  /** The next requests that fit a group. */
  #take(queue: CommitQueue): WaitingRequest[] {
    const { waiting } = queue;
    const group: WaitingRequest[] = [];
    let events = 0;
    let taken = 0;
    for (const one of waiting) {
      const { events: own, commands, reply, abandoned } = one.request;
      const alone = commands !== undefined || reply !== undefined;
      if (group.length > 0 && (alone || events + own.length > GROUP_EVENTS)) break;
      taken += 1;
      this.#queued -= own.length;
      if (abandoned?.() === true) {
        one.resolve(false);
        continue;
      }
      events += own.length;
      group.push(one);
      if (alone) break;
    }
    waiting.splice(0, taken);
    queue.since = performance.now();
    return group;
  }

  async #commit(group: readonly WaitingRequest[]): Promise<void> {
    const { writers, clock, reserve, unreserve, journaled, measured } = this.#options;
    const requests = group.map(({ request }) => request);
    const { projectId, commands, reply } = requests[0]!;
    const events = requests.flatMap((request) => request.events);
    const entry: JournalEntry = { events, refused: sumOf(requests), commands, reply };
    // The order of ids is that in which the journal is read, so they have one clock.
    const id = uuid({ msecs: clock.now() });
    const started = performance.now();
    reserve(projectId, id);
    try {
      const row = { id, events: events.length, body: await packEntry(entry) };
      const { text, values } = journal.insert(projectId, [row]);
      const answered = clock.asking();
      const deadline = clock.now() + DEADLINE_MS;
      const [stored] = await writers.query<{ received_ms: number }>(
        inTime(text, values),
        ...values,
        deadline,
      );
      if (stored === undefined) {
        // Perhaps only this process's clock is late, and would be for every request.
        await clock.ask(writers);
        throw new PlimsollError("overloaded", LATE, RETRY);
      }
      answered(stored.received_ms);
      const senders = requests.map((request) => ({ events: request.events.length, done: request.done }));
      journaled(projectId, { id, receivedAt: stored.received_ms, entry, requests: senders });
      for (const { resolve } of group) resolve(true);
      measured?.(events.length, performance.now() - started);
    } catch (error) {
      unreserve(projectId, id);
      for (const { reject } of group) reject(isUnavailable(error) ? databaseUnavailable(error) : error);
    }
  }
}

/**
 * Milliseconds in which the database must begin with the insert. A database that stood still runs what was sent to it
 * when it wakes; by then the senders have been told that nothing is stored.
 */
const DEADLINE_MS = 8_000;
const LATE = "The database did not answer in time. Send the same events again after 1 s.";
const RETRY = { details: { retry_after_seconds: 1 } };

/** The insert on the condition that the deadline, the last parameter, is not over. */
function inTime(text: string, values: readonly unknown[]): string {
  return `${text} WHERE clock_timestamp() < to_timestamp($${values.length + 1}::float8 / 1000) ${RECEIVED}`;
}

const RECEIVED = "RETURNING (extract(epoch FROM received_at) * 1000)::float8 AS received_ms";

/** A slow commit may wait for a connection that is lost; the next one has another connection. */
function mayCommit({ waiting, committing, slow }: CommitQueue): boolean {
  return waiting.length > 0 && committing === slow && committing < COMMITS;
}

function sumOf(group: readonly JournalRequest[]): Record<string, number> | undefined {
  let sum: Record<string, number> | undefined;
  for (const { refused } of group) {
    for (const [code, count] of Object.entries(refused ?? {})) {
      sum ??= {};
      sum[code] = (sum[code] ?? 0) + count;
    }
  }
  return sum;
}
