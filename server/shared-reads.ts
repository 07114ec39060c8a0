interface Flight<T> {
  answer: Promise<T>;
  /** For everybody who asked after this one began. */
  next: Promise<T> | undefined;
}

/**
 * Lets those who ask the same at the same time share one answer: of many browsers that hear of a change, the first one's
 * question goes out at once, and all others' as one more when it is back. Nobody gets an answer that was begun before
 * they asked, so what they were told had changed is in it.
 */
export class SharedReads {
  readonly #flights = new Map<string, Flight<unknown>>();

  /** Questions under way. */
  get size(): number {
    return this.#flights.size;
  }

  /** `key` must name all that the answer depends on: whose data, what is asked, and with what. */
  ask<T>(key: string, read: () => Promise<T>): Promise<T> {
    const flight = this.#flights.get(key) as Flight<T> | undefined;
    if (flight === undefined) return this.#begin(key, read);
    flight.next ??= flight.answer.then(
      () => this.#begin(key, read),
      () => this.#begin(key, read),
    );
    return flight.next;
  }

  #begin<T>(key: string, read: () => Promise<T>): Promise<T> {
    const flight: Flight<T> = { answer: read(), next: undefined };
    this.#flights.set(key, flight);
    const landed = () => {
      if (flight.next === undefined) this.#flights.delete(key);
    };
    flight.answer.then(landed, landed);
    return flight.answer;
  }
}
