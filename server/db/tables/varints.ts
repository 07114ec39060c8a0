/**
 * Integers as varints: 7 bits a byte, lowest first, the high bit set on all but the last byte. Signed values are zigzag
 * coded, so that small ones of either sign take one byte.
 */

/** Bytes of the longest value: the code WIDE and a double. */
export const LONGEST_VALUE = 9;

/** Code of a missing value; code of a value that follows as a double; code of the value 0. */
const MISSING = 0;
const WIDE = 1;
const FIRST_VALUE = 2;
/** The code of a larger difference would not be exact. */
const NARROW = 2 ** 52 - FIRST_VALUE;
const DOUBLE_BYTES = 8;

/** Reused, because a buffer with room for any values is several times as long as what is written. */
let scratch = Buffer.allocUnsafeSlow(65_536);

export class VarintWriter {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(most: number) {
    if (scratch.length < most) scratch = Buffer.allocUnsafeSlow(most);
    this.#bytes = scratch;
  }

  /** A whole number from 0 to 2^53. */
  number(value: number): void {
    const bytes = this.#bytes;
    let rest = value;
    // Bit operations are exact below 2^31 only.
    while (rest >= 0x8000_0000) {
      bytes[this.#at++] = (rest % 128) | 128;
      rest = Math.floor(rest / 128);
    }
    while (rest >= 128) {
      bytes[this.#at++] = (rest & 127) | 128;
      rest >>>= 7;
    }
    bytes[this.#at++] = rest;
  }

  /**
   * Any safe integer, as its difference to `before`, or a missing value.
   * @throws RangeError for any other number
   */
  value(value: number | undefined, before: number): void {
    if (value === undefined) {
      this.number(MISSING);
      return;
    }
    if (!Number.isSafeInteger(value)) throw new RangeError(`${value} cannot be packed`);
    const difference = value - before;
    if (Math.abs(difference) <= NARROW) this.number(zigzag(difference) + FIRST_VALUE);
    else this.#wide(value);
  }

  #wide(value: number): void {
    this.number(WIDE);
    this.#at = this.#bytes.writeDoubleBE(value, this.#at);
  }

  /** Its length in bytes, then its bytes. */
  text(value: string): void {
    this.number(Buffer.byteLength(value));
    this.#at += this.#bytes.write(value, this.#at);
  }

  /** A copy, because the buffer is reused. */
  end(): Buffer {
    return Buffer.from(this.#bytes.subarray(0, this.#at));
  }
}

export class VarintReader {
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  get ended(): boolean {
    return this.#at >= this.#bytes.length;
  }

  /** @throws RangeError for bytes that no writer wrote */
  number(): number {
    let value = 0;
    let unit = 1;
    for (;;) {
      const byte = this.#bytes[this.#at++];
      if (byte === undefined) throw new RangeError("packed numbers end too early");
      value += (byte & 127) * unit;
      if (byte < 128) return value;
      unit *= 128;
      if (unit > Number.MAX_SAFE_INTEGER) throw new RangeError("a packed number is too long");
    }
  }

  /** A value that was written with this `before`; undefined if it was missing. */
  value(before: number): number | undefined {
    const code = this.number();
    if (code >= FIRST_VALUE) return before + unzigzag(code - FIRST_VALUE);
    return code === WIDE ? this.#double() : undefined;
  }

  /** @throws RangeError if bytes of it are missing */
  text(): string {
    const length = this.number();
    const { buffer, byteOffset } = this.#bytes;
    if (length > this.#bytes.length - this.#at) throw new RangeError("a packed text ends too early");
    const text = Buffer.from(buffer, byteOffset + this.#at, length).toString();
    this.#at += length;
    return text;
  }

  #double(): number {
    const { buffer, byteOffset, length } = this.#bytes;
    const value = new DataView(buffer, byteOffset, length).getFloat64(this.#at);
    if (!Number.isSafeInteger(value)) throw new RangeError(`${value} cannot have been packed`);
    this.#at += DOUBLE_BYTES;
    return value;
  }
}

function zigzag(value: number): number {
  return value < 0 ? -2 * value - 1 : 2 * value;
}

function unzigzag(code: number): number {
  return code % 2 === 0 ? code / 2 : -(code + 1) / 2;
}
