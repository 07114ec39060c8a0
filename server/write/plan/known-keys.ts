/**
 * The turns and marks of an agent's history by 32 bits of their keys, some 8 bytes each: tells a new event from one that
 * may be stored without a look into the database. Among 100,000 turns it is wrong about one new turn in 40,000.
 */
export class KnownKeys {
  /** Open addressing; zero is a free place. The length is a power of two. */
  readonly #places: Int32Array;
  #size: number;

  private constructor(places: Int32Array, size: number) {
    this.#places = places;
    this.#size = size;
  }

  static empty(): KnownKeys {
    return new KnownKeys(new Int32Array(LEAST), 0);
  }

  /** Bytes in memory. */
  get bytes(): number {
    return this.#places.byteLength;
  }

  /** False only if no turn with this key was added. */
  mayHave(key: string): boolean {
    const value = bitsOf(key);
    return this.#places[this.#place(value)] === value;
  }

  /** Adds keys. Returns the set to use from now on: a larger one if this one is full. */
  add(keys: readonly string[]): KnownKeys {
    const set = this.#withRoom(keys.length);
    for (const key of keys) set.#put(bitsOf(key));
    return set;
  }

  /** Adds keys as `turn_blocks.keys` holds them. Returns the set to use from now on. */
  addPacked(packed: Uint8Array): KnownKeys {
    const set = this.#withRoom(packed.length / 8);
    const view = new DataView(packed.buffer, packed.byteOffset, packed.byteLength);
    for (let at = 4; at < packed.length; at += 8) set.#put(view.getInt32(at) || 1);
    return set;
  }

  #withRoom(more: number): KnownKeys {
    const most = this.#size + more;
    let length = this.#places.length;
    while (most > length * FULLEST) length *= 2;
    if (length === this.#places.length) return this;
    const larger = new KnownKeys(new Int32Array(length), 0);
    for (const value of this.#places) if (value !== 0) larger.#put(value);
    return larger;
  }

  #put(value: number): void {
    const place = this.#place(value);
    if (this.#places[place] === value) return;
    this.#places[place] = value;
    this.#size += 1;
  }

  /** Where the value is, or belongs. */
  #place(value: number): number {
    const mask = this.#places.length - 1;
    let place = value & mask;
    while (this.#places[place] !== 0 && this.#places[place] !== value) place = (place + 1) & mask;
    return place;
  }
}

const LEAST = 16;
/** Share of the places that may be taken. */
const FULLEST = 0.75;

/**
 * The low 32 bits of a signed decimal of up to 64 bits, never zero. Digit by digit: a BigInt, or slices of the text, would
 * be garbage for every turn.
 */
function bitsOf(key: string): number {
  const negative = key.charCodeAt(0) === MINUS;
  let bits = 0;
  for (let index = negative ? 1 : 0; index < key.length; index++) {
    bits = (Math.imul(bits, 10) + key.charCodeAt(index) - ZERO) | 0;
  }
  return (negative ? -bits | 0 : bits) || 1;
}

const MINUS = 0x2d;
const ZERO = 0x30;
