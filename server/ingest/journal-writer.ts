import type { PlimsollEvent } from "@plimsoll/protocol";
import { v7 as uuid } from "uuid";
import type { Writers } from "../db/sql.ts";
import { databaseUnavailable, isUnavailable } from "../db/unavailable.ts";
import { PlimsollError } from "../errors.ts";
import { journal } from "../store/journal.ts";
import type { DatabaseClock } from "./database-clock.ts";
import type { JournaledEntry, JournaledRequest } from "./entry-queue.ts";
import type { Command, JournalEntry } from "./journal-entry.ts";

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
/** Commits under way at once: one waits for its fsync while the next is sent. */
const COMMITS = 2;

interface Waiting extends JournalRequest {
  resolve: (journaled: boolean) => void;
  reject: (error: unknown) => void;
}

/** Commits events to the journal in groups: requests that arrive together share one fsync. */
export class JournalWriter {
  readonly #options: JournalWriterOptions;
  #queue: Waiting[] = [];
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
      this.#queue.push({ ...request, resolve, reject });
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
    if (this.#queue.length === 0 && this.#committing === 0) return Promise.resolve();
    return new Promise((resolve) => this.#idle.push(resolve));
  }

  /** Rejects everything that is not on its way to the database. */
  refuseWaiting(error: Error): void {
    for (const { reject } of this.#queue.splice(0)) reject(error);
    this.#queued = 0;
  }

  #pump(): void {
    while (this.#queue.length > 0 && this.#committing < COMMITS) {
      const group = this.#take();
      if (group.length === 0) continue;
      this.#committing += 1;
      void this.#commit(group).finally(() => {
        this.#committing -= 1;
        if (this.#queue.length > 0) this.#pump();
        else if (this.#committing === 0) for (const idle of this.#idle.splice(0)) idle();
      });
    }
  }

  /** The next requests of one project that fit a group. */
  #take(): Waiting[] {
    const first = this.#queue[0]!;
    const group: Waiting[] = [];
    const left: Waiting[] = [];
    let events = 0;
    let full = false;
    for (const request of this.#queue) {
      const size = request.events.length;
      const alone = request.commands !== undefined || request.reply !== undefined;
      if (
        request.projectId !== first.projectId ||
        full ||
        (group.length > 0 && (alone || events + size > GROUP_EVENTS))
      ) {
        full ||= request.projectId === first.projectId;
        left.push(request);
        continue;
      }
      if (alone) full = true;
      if (request.abandoned?.() === true) {
        this.#queued -= size;
        request.resolve(false);
        continue;
      }
      events += size;
      group.push(request);
    }
    this.#queue = left;
    this.#queued -= events;
    return group;
  }

  async #commit(group: readonly Waiting[]): Promise<void> {
    const { writers, clock, reserve, unreserve, journaled, measured } = this.#options;
    const { projectId, commands, reply } = group[0]!;
    const events = group.flatMap((request) => request.events);
    const entry: JournalEntry = { events, refused: sumOf(group), commands, reply };
    const id = uuid();
    const started = performance.now();
    reserve(projectId, id);
    try {
      const row = { id, events: events.length, body: JSON.stringify(entry) };
      const { text, values } = journal.insert(projectId, [row]);
      const deadline = clock.now() + DEADLINE_MS;
      const [stored] = await writers.query<{ received_ms: number }>(
        inTime(text, values),
        ...values,
        deadline,
      );
      if (stored === undefined) throw new PlimsollError("overloaded", LATE, RETRY);
      clock.correct(stored.received_ms);
      const requests = group.map((request) => ({ events: request.events.length, done: request.done }));
      journaled(projectId, { id, receivedAt: stored.received_ms, entry, requests });
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
