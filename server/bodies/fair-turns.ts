/** Milliseconds of work in one pass of the event loop, after which everything else waits for the next pass. */
const PASS_MS = 8;
/** Milliseconds after which work that can pause lets others go first. */
const SLICE_MS = 4;

/**
 * Divides synchronous work of many requests into slices, so that the event loop answers other requests between them:
 * after 8 ms of work in one pass, the rest waits for the next pass, in the order of arrival.
 */
export class FairTurns {
  readonly #now: () => number;
  readonly #waiting: (() => void)[] = [];
  #first = 0;
  #spent = 0;
  #passEnds = false;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Runs `work` to its end. It may be paused wherever it yields; what it throws rejects the promise. */
  async run<T>(work: Iterator<void, T>): Promise<T> {
    for (;;) {
      if (this.#spent >= PASS_MS || this.#first < this.#waiting.length) await this.#turn();
      const step = this.#slice(work);
      if (step.done === true) return step.value;
    }
  }

  #slice<T>(work: Iterator<void, T>): IteratorResult<void, T> {
    const start = this.#now();
    let used = 0;
    try {
      for (;;) {
        const step = work.next();
        used = this.#now() - start;
        if (step.done === true || used >= SLICE_MS) return step;
      }
    } finally {
      this.#spend(this.#now() - start);
    }
  }

  #turn(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      this.#awaitPass();
    });
  }

  #spend(ms: number): void {
    this.#spent += ms;
    this.#awaitPass();
    if (this.#spent < PASS_MS) this.#next();
  }

  /** Timers and sockets have their turn before an immediate callback, so they come between two passes. */
  #awaitPass(): void {
    if (this.#passEnds) return;
    this.#passEnds = true;
    setImmediate(() => {
      this.#passEnds = false;
      this.#spent = 0;
      this.#next();
      if (this.#first < this.#waiting.length) this.#awaitPass();
    });
  }

  #next(): void {
    const resume = this.#waiting[this.#first];
    if (resume === undefined) return;
    this.#first += 1;
    if (this.#first === this.#waiting.length) {
      this.#waiting.length = 0;
      this.#first = 0;
    }
    resume();
  }
}
