/**
 * The database's clock, as this process can tell: several servers agree on it, whatever their own clocks say. Corrected
 * by every journal commit.
 */
export class DatabaseClock {
  readonly #local: () => number;
  #offset = 0;

  /** `local` gives epoch ms. */
  constructor(local: () => number) {
    this.#local = local;
  }

  /** Epoch ms. */
  now(): number {
    return this.#local() + this.#offset;
  }

  /** `told` is what the database said, in epoch ms. */
  correct(told: number): void {
    this.#offset = told - this.#local();
  }
}
