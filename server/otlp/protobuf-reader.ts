import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";

/** The bytes of a message within the whole. */
export interface ByteRange {
  from: number;
  to: number;
}

/** Reads a field, or returns false to skip it. */
type TakeField = (field: number) => boolean;

/**
 * Reads nested protobuf messages with one reader of the whole: a reader for each of the dozens of messages in a span would take
 * most of the time. All methods throw if a field does not end within its message.
 */
export class ProtobufReader {
  readonly #bytes: Buffer;
  readonly #reader: BinaryReader;
  /** Where the message ends that is being read. */
  #end: number;

  constructor(bytes: Uint8Array) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#reader = new BinaryReader(bytes);
    this.#end = bytes.length;
  }

  get whole(): ByteRange {
    return { from: 0, to: this.#bytes.length };
  }

  /** Yields the messages in one repeated field. Other ranges may be read in between. */
  *messages({ from, to }: ByteRange, wanted: number): Generator<ByteRange> {
    const reader = this.#reader;
    for (let at = from; at < to; ) {
      reader.pos = at;
      this.#end = to;
      const [field, wireType] = reader.tag();
      if (field === wanted && wireType === WireType.LengthDelimited) {
        at = this.#length();
        yield { from: reader.pos, to: at };
      } else {
        reader.skip(wireType, field);
        at = reader.pos;
        this.#check();
      }
    }
  }

  /** Reads each field of a message. */
  read({ from, to }: ByteRange, take: TakeField): void {
    const reader = this.#reader;
    reader.pos = from;
    this.#end = to;
    while (reader.pos < to) {
      const [field, wireType] = reader.tag();
      if (!take(field)) reader.skip(wireType, field);
    }
    this.#check();
  }

  /** Reads each field of the message in the current field. */
  nested(take: TakeField): void {
    const outer = this.#end;
    const to = this.#length();
    this.read({ from: this.#reader.pos, to }, take);
    this.#end = outer;
  }

  /** @returns undefined if the text is longer than so many bytes */
  text(longest: number): string | undefined {
    const { from, to } = this.#range();
    return to - from > longest ? undefined : this.#bytes.toString("utf8", from, to);
  }

  hex(): string {
    const { from, to } = this.#range();
    return this.#bytes.toString("hex", from, to);
  }

  fixed64(): bigint {
    return BigInt(this.#reader.fixed64());
  }

  bool(): boolean {
    return this.#reader.bool();
  }

  int32(): number {
    return this.#reader.int32();
  }

  /** Rounded beyond 2^53. */
  int64(): number {
    return Number(this.#reader.int64());
  }

  double(): number {
    return this.#reader.double();
  }

  #range(): ByteRange {
    const to = this.#length();
    const from = this.#reader.pos;
    this.#reader.pos = to;
    return { from, to };
  }

  /** Reads a length, and returns where the field ends. */
  #length(): number {
    const length = this.#reader.uint32();
    const to = this.#reader.pos + length;
    if (to > this.#end) throw new RangeError("A field is longer than its message.");
    return to;
  }

  #check(): void {
    if (this.#reader.pos > this.#end) throw new RangeError("A field is longer than its message.");
  }
}
