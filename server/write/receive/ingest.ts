import type { IngestAnswer } from "@plimsoll/protocol/events";
import { v7 as uuid } from "uuid";
import type { DatabaseClock } from "../../db/database-clock.ts";
import { PlimsollError } from "../../errors.ts";
import type { Command } from "../journal/journal-entry.ts";
import type { JournalRequest, JournalWriter } from "../journal/journal-writer.ts";
import type { RequestOutcome } from "../plan/outcomes.ts";
import type { Freshness } from "../project/freshness.ts";
import type { Projectors } from "../project/projectors.ts";
import { Admission, type QueueState } from "./admission.ts";
import { EventCheck, type EventRules } from "./check-events.ts";
import type { RefusalBook } from "./refusal-book.ts";

export interface IngestOptions {
  journal: JournalWriter;
  projectors: Projectors;
  freshness: Freshness;
  clock: DatabaseClock;
  refusals: Pick<RefusalBook, "note" | "flush">;
}

export interface AcceptOptions {
  /** Answer after the projection, with the number of duplicates. */
  wait?: boolean;
  /** Whether the sender has gone: its events are not journaled then. */
  gone?: () => boolean;
}

/** Milliseconds a sender that asked to wait is kept for the projection. */
const WAIT_MS = 10_000;
/** Milliseconds after which refusals are counted even if nothing else is journaled. */
const COUNT_REFUSED_MS = 1_000;
/** Milliseconds that a stop waits for the journal. */
const DRAIN_MS = 5_000;

/** Takes events: checks each one, journals the accepted ones, answers after the commit. */
export class Ingest {
  readonly #options: IngestOptions;
  readonly #admission: Admission;
  readonly #refused = new Map<number, Map<string, number>>();
  #countTimer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(options: IngestOptions) {
    this.#options = options;
    this.#admission = new Admission({
      backlog: (projectId) => options.projectors.backlog(projectId) + options.journal.depth,
      limit: (projectId) => options.projectors.limit(projectId),
    });
  }

  /** Events of all projects that are accepted but not projected. */
  depth(): number {
    const { projectors, journal } = this.#options;
    return projectors.projectIds().reduce((sum, id) => sum + projectors.backlog(id), journal.depth);
  }

  /** Which projects' queues are full, and whether the server can still take events. */
  queueState(): QueueState {
    return this.#admission.queueState(this.#options.projectors.projectIds());
  }

  /** Call when the backlog of a project may have become smaller. */
  progressed(projectId: number): void {
    this.#admission.release(projectId);
  }

  /** Begins to check the events of a request. */
  check(rules: EventRules = {}): EventCheck {
    return new EventCheck(this.#options.clock.now(), rules);
  }

  /**
   * Stores what can be stored and says what could not.
   * @throws PlimsollError `overloaded` with `details.retry_after_seconds` if the projection is too far behind or the
   * database takes nothing; nothing of the request is stored then.
   */
  async accept(projectId: number, checked: EventCheck, options: AcceptOptions = {}): Promise<IngestAnswer> {
    if (this.#closed)
      throw new PlimsollError(
        "overloaded",
        "The server is stopping. Send the same events again after 1 s.",
        RETRY,
      );
    const { events, rejected } = checked;
    if (rejected.length > 0) this.#options.refusals.note(projectId, checked.faults());
    if (events.length === 0) {
      for (const { code } of rejected) this.refused(projectId, code, 1);
      return answer({ accepted: 0, duplicates: 0 }, options, rejected);
    }
    await this.#admission.enter(projectId, events.length, options.gone);
    const request = { projectId, events, refused: checked.rejections(), abandoned: options.gone };
    const outcome = await (options.wait ? this.#appendAndWait(request) : this.#append(request));
    return answer(outcome, options, rejected);
  }

  /** Has the projector do something. Resolves once it is done. */
  async command(projectId: number, command: Command): Promise<void> {
    await this.#appendAndWait({ projectId, events: [], commands: [command] });
  }

  /** Counts events that were refused, and why. */
  refused(projectId: number, code: string, events: number): void {
    if (this.#closed) return;
    let codes = this.#refused.get(projectId);
    if (codes === undefined) {
      codes = new Map();
      this.#refused.set(projectId, codes);
    }
    codes.set(code, (codes.get(code) ?? 0) + events);
    this.#countTimer ??= setTimeout(() => this.#countRefused(), COUNT_REFUSED_MS).unref();
  }

  /** Journals what waits, for at most 5 s, and refuses the rest. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#admission.close();
    clearTimeout(this.#countTimer);
    this.#countRefused();
    const { journal } = this.#options;
    let timer: NodeJS.Timeout | undefined;
    const timeUp = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, DRAIN_MS);
    });
    await Promise.race([Promise.all([journal.drained(), this.#options.refusals.flush()]), timeUp]);
    clearTimeout(timer);
    journal.refuseWaiting(
      new PlimsollError("overloaded", "The server is stopping. Send the same events again after 1 s.", RETRY),
    );
  }

  async #append(request: JournalRequest): Promise<Partial<RequestOutcome> & { accepted: number }> {
    const { projectId, events } = request;
    try {
      await this.#options.journal.append(request);
    } finally {
      this.#admission.leave(projectId, events.length);
    }
    return { accepted: events.length };
  }

  async #appendAndWait(request: JournalRequest): Promise<Partial<RequestOutcome> & { accepted: number }> {
    const { projectors, freshness } = this.#options;
    const { projectId, events } = request;
    const reply = projectors.holds(projectId) ? undefined : uuid();
    let stop: (() => void) | undefined;
    const told = new Promise<RequestOutcome>((resolve) => {
      request.done = resolve;
      if (reply !== undefined) stop = projectors.onReply(reply, resolve);
    });
    try {
      await this.#append(reply === undefined ? request : { ...request, reply });
      const projected = freshness.wait(projectId, WAIT_MS).then(() => undefined);
      return (await Promise.race([told, projected.then(() => grace(told))])) ?? { accepted: events.length };
    } finally {
      stop?.();
    }
  }

  #countRefused(): void {
    this.#countTimer = undefined;
    for (const [projectId, codes] of this.#refused) {
      this.#options.journal
        .append({ projectId, events: [], refused: Object.fromEntries(codes) })
        // Lost counts of refusals are no reason to trouble anybody while the database is away.
        .catch(() => {});
    }
    this.#refused.clear();
  }
}

const RETRY = { details: { retry_after_seconds: 1 } };

/** Milliseconds that another process' message may come after its commit. */
const GRACE_MS = 250;

function grace(told: Promise<RequestOutcome>): Promise<RequestOutcome | undefined> {
  const timeUp = new Promise<undefined>((resolve) => {
    // After a stall, timers run before the messages that came meanwhile; the immediate runs after them.
    setTimeout(() => setImmediate(resolve, undefined), GRACE_MS).unref();
  });
  return Promise.race([told, timeUp]);
}

function answer(
  outcome: Partial<RequestOutcome> & { accepted: number },
  { wait }: AcceptOptions,
  rejected: IngestAnswer["rejected"],
): IngestAnswer {
  const { accepted, duplicates } = outcome;
  return wait && duplicates !== undefined ? { accepted, duplicates, rejected } : { accepted, rejected };
}
