import { backoffMs, type PlimsollEventInput } from "@plimsoll/protocol/pure";
import { backgroundTimer } from "../background-timer.ts";
import { refusalText, rejectionsIn } from "../http/answers.ts";
import { checkNames } from "../policy/check-names.ts";
import { REPORTER_OPTIONS, type ReporterOptions, type ReporterStats, type Trouble } from "./options.ts";
import { Queue } from "./queue.ts";
import { type SendOutcome, type SendTarget, sendEvents } from "./send.ts";

const MAX_BATCH_BYTES = 1_000_000;
const BACKOFF = { firstMs: 500, mostMs: 60_000 };
const REFUSED_WAIT_MS = 300_000;
/** Longest timer, in ms. A timer above 2^31 would fire at once. */
const MAX_TIMER_MS = 3_600_000;

/** Sends events to a Plimsoll server. Never blocks the harness or throws into it. */
export class Reporter {
  readonly #options: ReporterOptions;
  readonly #queue: Queue;
  readonly #target: SendTarget | undefined;
  readonly #batch: number;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** When the timer fires. Epoch ms. */
  #timerAt = 0;
  /** True if a flush is scheduled for now or in progress, so no other needs scheduling. */
  #urgent = false;
  #sending: Promise<void> | undefined;
  /** Events in the current request. */
  #inFlight: readonly string[] = [];
  /** Puts them in the spool as well, because the server has not answered within `flushMs`. True once they are there. */
  #saving: Promise<boolean> | undefined;
  /** Moves the queue to the spool. */
  #spooling: Promise<void> | undefined;
  #failures = 0;
  #notBefore = 0;
  #reportedTroubles = new Set<Trouble["kind"]>();
  #recorded = 0;
  #sent = 0;
  #rejected = 0;
  #lost = 0;
  #spooled = 0;
  #closed = false;
  readonly #generationListeners = new Set<(generation: number) => void>();

  constructor(options: ReporterOptions) {
    this.#options = options;
    this.#queue = new Queue(options.maxEvents ?? 10_000, options.maxBytes ?? 16_000_000);
    this.#batch = options.batch ?? 500;
    this.#target =
      options.url === undefined
        ? undefined
        : {
            url: options.url,
            key: options.key ?? "",
            timeoutMs: options.timeoutMs ?? 10_000,
            fetch: options.fetch ?? fetch,
            clock: options.clock ?? Date.now,
            onPolicyGeneration: (generation) => {
              for (const listener of this.#generationListeners) listener(generation);
            },
          };
    if (this.#target !== undefined && options.spool !== undefined) this.#scheduleFlush(0);
  }

  /** Current counts. */
  get stats(): ReporterStats {
    return {
      recorded: this.#recorded,
      sent: this.#sent,
      rejected: this.#rejected,
      dropped: this.#lost + this.#queue.dropped,
      waiting: this.#queue.length,
      spooled: this.#spooled,
    };
  }

  /** Records one event in a few microseconds and sends it later. Bound, so it can be passed as `onEvent`. */
  readonly record = (event: PlimsollEventInput): void => {
    let line: string;
    try {
      line = JSON.stringify(event);
    } catch (error) {
      this.#lost++;
      this.#trouble(
        "dropped",
        `One event was dropped, because it cannot be converted to JSON: ${messageOf(error)}`,
      );
      return;
    }
    this.#recorded++;
    if (this.#options.log !== undefined) {
      try {
        this.#options.log(line);
      } catch (error) {
        this.#trouble("log", `The log function failed: ${messageOf(error)}`);
      }
    }
    if (this.#target === undefined || this.#closed) return;
    this.#queue.push(line);
    if (this.#queue.length >= this.#batch && this.#failures === 0 && !this.#urgent) this.#scheduleFlush(0);
    else if (this.#timer === undefined || this.#failures > 0) this.#scheduleFlush(this.#flushMs);
  };

  /**
   * Calls `listener` with the newest generation of the project's policy after each answer of the server.
   * @returns a function that ends it
   */
  onPolicyGeneration(listener: (generation: number) => void): () => void {
    this.#generationListeners.add(listener);
    return () => void this.#generationListeners.delete(listener);
  }

  /** Sends the waiting events as far as the server accepts them now. Never throws. */
  async flush(): Promise<void> {
    if (this.#target === undefined) return;
    this.#clearTimer();
    if (this.#sending !== undefined) await this.#spoolMeanwhile();
    this.#urgent = true;
    this.#sending ??= this.#drain().finally(() => {
      this.#sending = undefined;
      this.#urgent = false;
      if (!this.#closed && (this.#queue.length > 0 || this.#failures > 0))
        this.#scheduleFlush(this.#waitMs());
    });
    await this.#sending;
  }

  /** Sends or spools the remaining events within `withinMs` (default 5,000), then stops. */
  async close(withinMs = 5_000): Promise<void> {
    if (this.#closed) return;
    const flushed = this.flush().then(() => this.flush());
    await Promise.race([flushed, new Promise((resolve) => setTimeout(resolve, withinMs).unref?.())]);
    this.#closed = true;
    this.#clearTimer();
    await this.#spoolMeanwhile();
  }

  /** Spools what waits while a request is under way. It may still fail, and sending events twice is harmless. */
  async #spoolMeanwhile(): Promise<void> {
    if (this.#options.spool === undefined) return;
    if (this.#inFlight.length > 0) this.#saving ??= this.#spoolOrRequeue(this.#inFlight, "keep");
    await this.#saving;
    await this.#toSpool();
  }

  async #drain(): Promise<void> {
    if (this.#now() < this.#notBefore) {
      await this.#toSpool();
      return;
    }
    for (let spooled = -1; spooled !== this.#spooled; ) {
      // What is spooled meanwhile is sent in the next round.
      spooled = this.#spooled;
      // Spooled events are older than those in memory.
      if (!(await this.#drainSpool()) || !(await this.#drainQueue())) {
        await this.#toSpool();
        return;
      }
      await this.#spooling;
    }
  }

  /** Returns false if the server does not take the events now. */
  async #drainQueue(): Promise<boolean> {
    while (this.#queue.length > 0) {
      const lines = this.#queue.take(this.#batch, MAX_BATCH_BYTES);
      this.#inFlight = lines;
      if (this.#options.spool !== undefined) this.#scheduleFlush(this.#flushMs);
      const before = { sent: this.#sent, rejected: this.#rejected };
      const settled = await this.#deliver(lines);
      const spooled = (await this.#saving) ?? false;
      this.#inFlight = [];
      this.#saving = undefined;
      if (spooled) {
        // They are sent again from the spool, and counted then.
        this.#sent = before.sent;
        this.#rejected = before.rejected;
      }
      if (!settled) {
        if (!spooled) await this.#spoolOrRequeue(lines);
        return false;
      }
    }
    return true;
  }

  async #drainSpool(): Promise<boolean> {
    const { spool } = this.#options;
    if (spool === undefined) return true;
    try {
      for (;;) {
        const waiting = await spool.next(this.#batch * 4, MAX_BATCH_BYTES);
        if (waiting === undefined) return true;
        if (!(await this.#deliver(waiting.lines))) return false;
        await waiting.done();
      }
    } catch (error) {
      this.#trouble("spool", `The spool cannot be read: ${messageOf(error)}. Check its folder.`);
      return true;
    }
  }

  /** Returns true if the lines need no retry, because the server stored them or never will. */
  async #deliver(lines: readonly string[]): Promise<boolean> {
    if (lines.length === 0) return true;
    const outcome = await sendEvents(this.#target!, lines);
    if (outcome.kind === "split") {
      if (lines.length === 1) {
        this.#lost++;
        this.#trouble(
          "dropped",
          "One event was dropped, because it exceeds the server's size limit. Shorten its texts.",
        );
        return true;
      }
      const half = lines.length >> 1;
      return (await this.#deliver(lines.slice(0, half))) && (await this.#deliver(lines.slice(half)));
    }
    return this.#settle(outcome, lines.length);
  }

  #settle(outcome: Exclude<SendOutcome, { kind: "split" }>, count: number): boolean {
    if (outcome.kind === "stored") {
      const { count: rejected, reason } = rejectionsIn(outcome.answer);
      this.#sent += count - rejected;
      this.#rejected += rejected;
      this.#failures = 0;
      this.#notBefore = 0;
      this.#reportedTroubles.delete("away");
      this.#reportedTroubles.delete("refused");
      if (rejected > 0)
        this.#trouble(
          "rejected",
          `The server rejected ${rejected} event(s)${reason === "" ? " as invalid." : `, the first because of ${reason}`}`,
        );
      return true;
    }
    if (outcome.kind === "never") {
      this.#lost += count;
      this.#trouble("rejected", `The server rejected ${count} event(s) with ${refusalText(outcome.refusal)}`);
      return true;
    }
    this.#failures++;
    const refused = outcome.kind === "refused";
    const message = refused
      ? `The server refused the events with ${refusalText(outcome.refusal)}. Check the URL and the key.`
      : `The events could not be sent and will be retried: ${outcome.refusal ? refusalText(outcome.refusal) : messageOf(outcome.error)}`;
    this.#trouble(refused ? "refused" : "away", message);
    const asked = refused ? REFUSED_WAIT_MS : outcome.waitMs;
    this.#notBefore =
      this.#now() + (asked ?? backoffMs(this.#failures, BACKOFF, (this.#options.random ?? Math.random)()));
    return false;
  }

  #waitMs(): number {
    const left = this.#notBefore - this.#now();
    // Without a spool, events in memory wait for the server.
    const spools = this.#options.spool !== undefined && this.#queue.length > 0;
    return left > 0 && !spools ? left : this.#flushMs;
  }

  get #flushMs(): number {
    return this.#options.flushMs ?? 1_000;
  }

  /** Moves the queue to the spool. Concurrent calls share one move. */
  #toSpool(): Promise<void> {
    this.#spooling ??= this.#moveToSpool().finally(() => {
      this.#spooling = undefined;
    });
    return this.#spooling;
  }

  async #moveToSpool(): Promise<void> {
    if (this.#options.spool === undefined) return;
    while (this.#queue.length > 0) {
      if (!(await this.#spoolOrRequeue(this.#queue.take(this.#batch, MAX_BATCH_BYTES)))) return;
    }
  }

  /**
   * Moves lines to the spool, or back to the end of the memory queue if that fails. Returns true if spooled.
   * @param otherwise `keep`: the caller still has the lines
   */
  async #spoolOrRequeue(
    lines: readonly string[],
    otherwise: "requeue" | "keep" = "requeue",
  ): Promise<boolean> {
    const { spool } = this.#options;
    const back = () => {
      if (otherwise === "requeue") for (const line of lines) this.#queue.push(line);
      return false;
    };
    if (spool === undefined) return back();
    try {
      const dropped = await spool.add(lines);
      this.#spooled += lines.length;
      this.#lost += dropped;
      if (dropped > 0)
        this.#trouble(
          "dropped",
          `The spool is full, so the ${dropped} oldest events were dropped. Raise its maxBytes.`,
        );
      return true;
    } catch (error) {
      this.#trouble("spool", `The spool cannot be written: ${messageOf(error)}. Check its folder.`);
      return back();
    }
  }

  #scheduleFlush(afterMs: number): void {
    if (this.#closed) return;
    const wait = Math.min(afterMs, MAX_TIMER_MS);
    const at = this.#now() + wait;
    if (this.#timer !== undefined && afterMs > 0 && this.#timerAt <= at) return;
    if (afterMs === 0) this.#urgent = true;
    this.#clearTimer();
    this.#timerAt = at;
    this.#timer = backgroundTimer(() => {
      this.#timer = undefined;
      void this.flush();
    }, wait);
  }

  #clearTimer(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #trouble(kind: Trouble["kind"], message: string): void {
    if (this.#reportedTroubles.has(kind)) return;
    this.#reportedTroubles.add(kind);
    try {
      this.#options.onTrouble?.({ kind, message });
    } catch {
      // An error in the harness's callback must not break reporting.
    }
  }

  #now(): number {
    return (this.#options.clock ?? Date.now)();
  }
}

/**
 * Creates a reporter.
 * @throws {GuardError} `invalid_option`
 * @example
 * const reporter = createReporter({ url: process.env.PLIMSOLL_URL, key: process.env.PLIMSOLL_KEY });
 * const guard = createGuard({ identity, onEvent: reporter.record });
 * // Before the process exits:
 * await reporter.close();
 */
export function createReporter(options: ReporterOptions): Reporter {
  checkNames(options, REPORTER_OPTIONS);
  return new Reporter(options);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
