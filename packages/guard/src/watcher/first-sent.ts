/** After so many known messages in a row, the older ones are known as well. A user may say the same word again. */
const KNOWN_IN_A_ROW = 8;

/** When each message of a conversation was first sent. */
export class FirstSent {
  /** Epoch ms by the print of a message; undefined for those that were there at the beginning. */
  #times = new Map<number, number | undefined>();

  /**
   * Records the messages that are new.
   * @param prints of all messages, oldest first
   * @param now epoch ms
   */
  record(prints: readonly number[], now: number): void {
    const time = this.#times.size === 0 ? undefined : now;
    let known = 0;
    for (let index = prints.length - 1; index >= 0 && known < KNOWN_IN_A_ROW; index--) {
      const print = prints[index]!;
      if (this.#times.has(print)) known++;
      else {
        known = 0;
        this.#times.set(print, time);
      }
    }
    // A harness that edits and trims leaves prints behind.
    if (this.#times.size > 2 * prints.length + 1_000)
      this.#times = new Map(prints.map((print) => [print, this.#times.get(print)]));
  }

  /** Epoch ms; undefined if it is not known. */
  at(print: number): number | undefined {
    return this.#times.get(print);
  }
}
