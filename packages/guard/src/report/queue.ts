/** A queue of events as JSON text, bounded by count and bytes. When full, it drops and counts the oldest. */
export class Queue {
  readonly #maxEvents: number;
  readonly #maxBytes: number;
  #items: string[] = [];
  #head = 0;
  #bytes = 0;
  /** Number of events dropped so far. */
  dropped = 0;

  constructor(maxEvents: number, maxBytes: number) {
    this.#maxEvents = maxEvents;
    this.#maxBytes = maxBytes;
  }

  get length(): number {
    return this.#items.length - this.#head;
  }

  /** Size in UTF-16 code units, close enough to bytes for a limit. */
  get bytes(): number {
    return this.#bytes;
  }

  push(line: string): void {
    this.#items.push(line);
    this.#bytes += line.length;
    while (this.length > this.#maxEvents || (this.#bytes > this.#maxBytes && this.length > 1)) {
      this.#shift();
      this.dropped++;
    }
  }

  /** Removes and returns the oldest events within both limits, but at least one. */
  take(maxEvents: number, maxBytes: number): string[] {
    const taken: string[] = [];
    let bytes = 0;
    while (this.length > 0 && taken.length < maxEvents) {
      const next = this.#items[this.#head]!;
      if (taken.length > 0 && bytes + next.length > maxBytes) break;
      bytes += next.length;
      taken.push(this.#shift());
    }
    return taken;
  }

  #shift(): string {
    const line = this.#items[this.#head]!;
    this.#items[this.#head] = "";
    this.#head++;
    this.#bytes -= line.length;
    if (this.#head > 1_024 && this.#head * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#head);
      this.#head = 0;
    }
    return line;
  }
}
