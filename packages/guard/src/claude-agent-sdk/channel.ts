/** A queue that one side fills and the other side reads, each at its own pace. */
export class Channel<T> implements AsyncIterableIterator<T> {
  readonly #waiting: ((result: Promise<IteratorResult<T, undefined>>) => void)[] = [];
  readonly #items: T[] = [];
  #end: Promise<IteratorResult<T, undefined>> | undefined;

  push(item: T): void {
    if (this.#end !== undefined) return;
    const reader = this.#waiting.shift();
    if (reader === undefined) this.#items.push(item);
    else reader(Promise.resolve({ done: false, value: item }));
  }

  /** Ends the queue after the items in it. Only the first end counts. */
  end(): void {
    this.#finish(Promise.resolve({ done: true, value: undefined }));
  }

  /** Ends the queue with an error, after the items in it. */
  fail(error: unknown): void {
    const end = Promise.reject(error);
    // The reader may come later, or never.
    end.catch(() => {});
    this.#finish(end);
  }

  next(): Promise<IteratorResult<T, undefined>> {
    const [item] = this.#items.splice(0, 1);
    if (item !== undefined) return Promise.resolve({ done: false, value: item });
    return this.#end ?? new Promise((resolve) => this.#waiting.push(resolve));
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #finish(end: Promise<IteratorResult<T, undefined>>): void {
    if (this.#end !== undefined) return;
    this.#end = end;
    for (const reader of this.#waiting.splice(0)) reader(end);
  }
}
