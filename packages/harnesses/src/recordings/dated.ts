export interface Dated<T> {
  at: number;
  value: T;
}

/** Values by time. Of values with one time, the last added counts. */
export class ValuesByTime<T> {
  readonly #values: Dated<T>[];

  constructor(values: Iterable<Dated<T>>) {
    this.#values = [...values].sort((a, b) => a.at - b.at);
  }

  /** The value that held at a time; undefined before the first one. */
  at(time: number): T | undefined {
    let low = 0;
    let high = this.#values.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#values[middle]!.at <= time) low = middle + 1;
      else high = middle;
    }
    return this.#values[low - 1]?.value;
  }

  /** The value with the earliest time. */
  get first(): T | undefined {
    return this.#values[0]?.value;
  }
}
