/** Bytes of a string that are kept. No count, name or title of a recording is longer. */
const LONGEST_STRING = 64 << 10;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
/** The length of `\\u` and its digits, the longest escape. */
const ESCAPE = 6;

/** Shortens the strings of a line of JSON that comes in parts. What is left is as valid as the line was. */
export class LongStrings {
  #isInString = false;
  #length = 0;
  /** Bytes of an escape that may follow. */
  #escape = 0;
  /** Whether the rest of a string is left out. */
  #isDropped = false;

  without(part: Buffer): Buffer {
    const kept: Buffer[] = [];
    let from: number | undefined = this.#isDropped ? undefined : 0;
    for (let index = 0; index < part.length; index += 1) {
      this.#read(part[index]!);
      if (this.#isDropped) {
        if (from !== undefined) kept.push(part.subarray(from, index + 1));
        from = undefined;
      } else from ??= index;
    }
    if (from !== undefined) kept.push(part.subarray(from));
    return Buffer.concat(kept);
  }

  #read(byte: number): void {
    if (!this.#isInString) {
      this.#isInString = byte === QUOTE;
      this.#length = 0;
      return;
    }
    this.#length += 1;
    if (this.#escape > 0) {
      this.#escape -= 1;
      // Any other escape than one of a code point is two bytes long.
      if (this.#escape === ESCAPE - 2 && byte !== 0x75) this.#escape = 0;
    } else if (byte === BACKSLASH) this.#escape = ESCAPE - 1;
    else if (byte === QUOTE) this.#isInString = false;
    // It is cut where no escape is.
    if (!this.#isInString) this.#isDropped = false;
    else if (this.#length > LONGEST_STRING && this.#escape === 0) this.#isDropped = true;
  }
}
