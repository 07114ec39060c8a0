import type { IngestAnswer, PlimsollEvent } from "@plimsoll/protocol";
import { parseEvent } from "@plimsoll/protocol";
import type { Logger } from "pino";
import { isUnavailable } from "../db/unavailable.ts";
import { PlimsollError } from "../errors.ts";
import { type Batch, makeBatch, type RequestTally } from "./batch.ts";
import type { WriterOptions } from "./batch-writer.ts";
import type { RawEvent } from "./decode.ts";
import { OutcomeCounts } from "./outcomes.ts";
import { writeBatch } from "./write.ts";

export interface IngestOptions extends WriterOptions {
  log: Logger;
  /** Called after a commit with the sessions it touched. */
  committed: (projectId: number, sessionIds: readonly string[]) => void;
  /** Called after a commit with how many events it held and how long it took in ms, and with what was counted. */
  measured?: (events: number, ms: number, counts: OutcomeCounts) => void;
  /** Epoch ms. */
  clock: () => number;
}

/** Transactions in flight at once: one is made while the database writes another and a third waits for its fsync. */
export const WRITERS = 3;
/** Events in one transaction; a request is never split. */
const BATCH_EVENTS = 1_000;
/** Events waiting before another writer starts beside a busy one: below it, company is worth more than haste. */
const NEXT_WRITER_EVENTS = 48;
/** Events waiting before new requests are turned away. */
const QUEUE_EVENTS = 100_000;
/** Seconds a sender that was turned away should wait. */
const RETRY_AFTER = 1;
/** Milliseconds after which refusals are counted even when nothing else is written. */
const COUNTS_FLUSH = 1_000;

interface Request {
  projectId: number;
  events: PlimsollEvent[];
  tally: RequestTally;
  resolve: () => void;
  reject: (error: unknown) => void;
}

/**
 * Checks events one by one and writes them in groups: requests that arrive together share a transaction, and every
 * one is answered after its commit.
 */
export class Ingest {
  readonly #options: IngestOptions;
  #queue: Request[] = [];
  #queued = 0;
  #writing = 0;
  #turn: NodeJS.Immediate | undefined;
  #counts = new OutcomeCounts();
  #countsTimer: NodeJS.Timeout | undefined;
  #closed = false;
  #idle: (() => void)[] = [];

  constructor(options: IngestOptions) {
    this.#options = options;
  }

  /** Events accepted but not yet committed. */
  get depth(): number {
    return this.#queued;
  }

  get full(): boolean {
    return this.#queued >= QUEUE_EVENTS;
  }

  /**
   * Stores what can be stored and says what could not, after the commit.
   * @throws PlimsollError `overloaded` with `details.retry_after_seconds` in seconds when the queue is full or the database
   * does not answer; nothing of the request is stored then.
   */
  async accept(projectId: number, raw: readonly RawEvent[]): Promise<IngestAnswer> {
    if (this.#closed) throw overloaded("The server is stopping.");
    if (this.full) throw overloaded("More events are waiting to be written than the server can hold.");
    const { events, rejected } = check(raw);
    for (const { code } of rejected) this.#refused(projectId, code, 1);
    const tally: RequestTally = { accepted: 0, duplicates: 0 };
    if (events.length > 0) {
      await new Promise<void>((resolve, reject) =>
        this.#enqueue({ projectId, events, tally, resolve, reject }),
      );
    }
    return { ...tally, rejected };
  }

  /** Writes what waits and settles the totals, then refuses more. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#pump();
    if (this.#queued > 0 || this.#writing > 0) await new Promise<void>((resolve) => this.#idle.push(resolve));
    clearTimeout(this.#countsTimer);
    await this.#flushCounts();
    await this.#options.totals.close();
  }

  #enqueue(request: Request): void {
    this.#queue.push(request);
    this.#queued += request.events.length;
    this.#schedule();
  }

  /** Begins once all requests are read that arrived together: they keep each other company, and none waits for more. */
  #schedule(): void {
    if (this.#queued >= BATCH_EVENTS) this.#pump();
    else this.#turn ??= setImmediate(() => this.#pump());
  }

  #pump(): void {
    clearImmediate(this.#turn);
    this.#turn = undefined;
    while (this.#queue.length > 0 && this.#mayStart()) {
      const requests = this.#take();
      this.#writing += 1;
      void this.#write(requests).finally(() => {
        this.#writing -= 1;
        if (this.#queue.length > 0) this.#pump();
        else if (this.#writing === 0) for (const idle of this.#idle.splice(0)) idle();
      });
    }
  }

  #mayStart(): boolean {
    if (this.#writing === 0) return true;
    return this.#writing < WRITERS && (this.#closed || this.#waiting() >= NEXT_WRITER_EVENTS);
  }

  #waiting(): number {
    let waiting = 0;
    for (const request of this.#queue) {
      waiting += request.events.length;
      if (waiting >= NEXT_WRITER_EVENTS) break;
    }
    return waiting;
  }

  #take(): Request[] {
    let events = 0;
    let taken = 0;
    while (taken < this.#queue.length) {
      const size = this.#queue[taken]!.events.length;
      if (taken > 0 && events + size > BATCH_EVENTS) break;
      events += size;
      taken += 1;
    }
    return this.#queue.splice(0, taken);
  }

  async #write(requests: Request[]): Promise<void> {
    const events = requests.reduce((sum, request) => sum + request.events.length, 0);
    try {
      await this.#commit(requests);
      for (const request of requests) request.resolve();
    } catch (error) {
      await this.#failed(requests, error);
    } finally {
      this.#queued -= events;
    }
  }

  async #commit(requests: readonly Request[]): Promise<void> {
    const counts = this.#counts;
    this.#counts = new OutcomeCounts();
    const started = performance.now();
    try {
      const batch = makeBatch(requests, this.#options.clock());
      const written = await writeBatch(this.#options, batch, counts);
      this.#options.measured?.(batch.events, performance.now() - started, written);
      this.#notify(batch);
    } catch (error) {
      this.#counts.addAll(counts);
      throw error;
    }
  }

  /** One request that the database refuses must not fail its neighbours: each is tried by itself. */
  async #failed(requests: readonly Request[], error: unknown): Promise<void> {
    if (isUnavailable(error)) {
      this.#options.log.error({ err: error }, "the database did not take a batch");
      for (const request of requests) request.reject(overloaded("The database does not answer.", error));
      return;
    }
    if (requests.length === 1) {
      this.#options.log.error({ err: error }, "a request could not be written");
      requests[0]!.reject(error);
      return;
    }
    for (const request of requests) {
      try {
        await this.#commit([request]);
        request.resolve();
      } catch (own) {
        await this.#failed([request], own);
      }
    }
  }

  #notify(batch: Batch): void {
    const touched = new Map<number, string[]>();
    for (const { projectId, id } of batch.sessions.values()) {
      const ids = touched.get(projectId);
      if (ids === undefined) touched.set(projectId, [id]);
      else ids.push(id);
    }
    for (const [projectId, ids] of touched) this.#options.committed(projectId, ids);
  }

  /** Counts events that were refused before they came here, and why. A body nobody could read counts as one. */
  turnedAway(projectId: number, code: string, events: number): void {
    if (!this.#closed) this.#refused(projectId, code, events);
  }

  #refused(projectId: number, code: string, count: number): void {
    this.#counts.add(projectId, code, count);
    this.#countsTimer ??= setTimeout(() => {
      this.#countsTimer = undefined;
      void this.#flushCounts();
    }, COUNTS_FLUSH).unref();
  }

  async #flushCounts(): Promise<void> {
    if (this.#counts.empty) return;
    try {
      await this.#commit([]);
    } catch (error) {
      this.#options.log.warn({ err: error }, "refusals could not be counted yet");
    }
  }
}

function check(raw: readonly RawEvent[]): { events: PlimsollEvent[]; rejected: IngestAnswer["rejected"] } {
  const events: PlimsollEvent[] = [];
  const rejected: IngestAnswer["rejected"] = [];
  for (let index = 0; index < raw.length; index++) {
    const one = raw[index]!;
    if ("unreadable" in one) {
      rejected.push({ index, code: "invalid_json", path: "", message: one.unreadable });
      continue;
    }
    const parsed = parseEvent(one.value);
    if (parsed.ok) events.push(parsed.event);
    else rejected.push({ index, id: idOf(one.value), ...parsed.rejection });
  }
  return { events, rejected };
}

function idOf(value: unknown): string | undefined {
  const id = typeof value === "object" && value !== null ? (value as { id?: unknown }).id : undefined;
  return typeof id === "string" ? id.slice(0, 128) : undefined;
}

function overloaded(message: string, cause?: unknown): PlimsollError {
  return new PlimsollError("overloaded", `${message} Send the same events again after ${RETRY_AFTER} s.`, {
    details: { retry_after_seconds: RETRY_AFTER },
    cause,
  });
}
