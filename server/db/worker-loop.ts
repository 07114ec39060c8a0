/** Until the next step: at most so many milliseconds. Waking ends the pause, but not before the least time. */
export interface Pause {
  mostMs: number;
  leastMs?: number;
}

/** Work in the background: repeats a step, one at a time, while there is something to do. */
export class WorkerLoop {
  readonly #step: () => Promise<Pause | undefined>;
  #running: Promise<void> | undefined;
  #endSleep: (() => void) | undefined;
  /** Whether the pause under way ends when the loop is woken. */
  #mayEnd = false;
  #woken = false;
  #stopped = false;

  /** @param step never rejects. Returns undefined if nothing is left to do before the loop is woken */
  constructor(step: () => Promise<Pause | undefined>) {
    this.#step = step;
  }

  get stopped(): boolean {
    return this.#stopped;
  }

  /** There may be something to do. A step that is under way is followed by another one. */
  wake(): void {
    this.#woken = true;
    if (this.#stopped) return;
    if (this.#running === undefined) this.#running = this.#run();
    else if (this.#mayEnd) this.endSleep();
  }

  /** A pause within a step, in ms. `endSleep` and `stop` end it. */
  async sleep(ms: number): Promise<void> {
    if (this.#stopped || ms <= 0) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms).unref();
      this.#endSleep = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.#endSleep = undefined;
  }

  endSleep(): void {
    this.#endSleep?.();
  }

  /** Resolves once no step is under way or planned. */
  async idle(): Promise<void> {
    while (this.#running !== undefined) await this.#running;
  }

  /** Begins no other step, and resolves once the one under way has ended. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.endSleep();
    await this.#running;
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      this.#woken = false;
      const pause = await this.#step();
      if (pause === undefined) {
        if (this.#woken) continue;
        break;
      }
      const { mostMs, leastMs = 0 } = pause;
      await this.sleep(leastMs);
      if (this.#woken) continue;
      this.#mayEnd = true;
      await this.sleep(mostMs - leastMs);
      this.#mayEnd = false;
    }
    this.#running = undefined;
  }
}
