import { backgroundTimer } from "../background-timer.ts";

const CHECKS = 4;

/** Asks a harness several times within `windowMs` whether it works. */
export class HealthWatch {
  readonly #healthy: () => boolean | Promise<boolean>;
  readonly #windowMs: number;
  #timers: ReturnType<typeof setTimeout>[] = [];

  constructor(healthy: () => boolean | Promise<boolean>, windowMs: number) {
    this.#healthy = healthy;
    this.#windowMs = windowMs;
  }

  /**
   * Begins to watch, in place of the watch before.
   * @param settle called once: with the reason if the harness is unhealthy, without one if it stayed healthy. An answer that
   * does not come counts as unhealthy
   */
  watch(settle: (reason: string | undefined) => void): void {
    this.stop();
    let settled = false;
    let waiting = 0;
    const end = (reason: string | undefined) => {
      if (settled) return;
      settled = true;
      this.stop();
      settle(reason);
    };
    const check = async (last: boolean) => {
      waiting += 1;
      const wrong = await this.#ask();
      waiting -= 1;
      if (wrong !== undefined) end(wrong);
      else if (last && waiting === 0) end(undefined);
    };
    const timers = this.#timers;
    for (let number = 1; number <= CHECKS; number++)
      timers.push(backgroundTimer(() => void check(number === CHECKS), (this.#windowMs * number) / CHECKS));
    timers.push(backgroundTimer(() => end("healthy() did not answer"), this.#windowMs * 1.25));
  }

  stop(): void {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers = [];
  }

  async #ask(): Promise<string | undefined> {
    try {
      return (await this.#healthy()) === false ? "healthy() returned false" : undefined;
    } catch (error) {
      return `healthy() failed: ${error instanceof Error ? error.message : String(error)}`;
    }
  }
}
