import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import { BODY_LIMITS, type BodyBudget, tooManyFields, tooManyValues } from "../../../bodies/body-budget.ts";

/** The bytes of a message within the whole. */
export interface ByteRange {
  from: number;
  to: number;
}

/** Reads a field, or returns false to skip it. */
type TakeField = (field: number) => boolean;

/** Fields passed over between two pauses, some 30 ns each. */
const PAUSE_FIELDS = 8_192;

/** Why one message cannot be read although the rest of the body can. */
export class OversizedMessage extends Error {}

/**
 * Reads nested protobuf messages with one reader of the whole: a reader for each of the dozens of messages in a span would take
 * most of the time. All methods throw if a field does not end within its message. Fields are counted as the values of the body,
 * whether anybody knows them or not.
 */
export class ProtobufReader {
  readonly #bytes: Buffer;
  readonly #reader: BinaryReader;
  /** Where the message ends that is being read. */
  #end: number;
  readonly #budget: BodyBudget;
  /** Fields that the budget does not have yet. */
  #fields = 0;

  constructor(bytes: Uint8Array, budget: BodyBudget) {
    this.#budget = budget;
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#reader = new BinaryReader(bytes);
    this.#end = bytes.length;
  }

  get whole(): ByteRange {
    return { from: 0, to: this.#bytes.length };
  }

  /**
   * Yields the messages in one repeated field, and undefined where the work may be paused. Other ranges may be read in between.
   * @throws PlimsollError `too_large`
   */
  *messages({ from, to }: ByteRange, wanted: number): Generator<ByteRange | undefined, void> {
    const reader = this.#reader;
    let passed = 0;
    for (let at = from; at < to; ) {
      reader.pos = at;
      this.#end = to;
      const [field, wireType] = reader.tag();
      this.#fields += 1;
      if (field === wanted && wireType === WireType.LengthDelimited) {
        at = this.#length();
        yield { from: reader.pos, to: at };
      } else {
        this.#skip(field, wireType);
        at = reader.pos;
        passed += 1;
        if (passed % PAUSE_FIELDS === 0) {
          this.count();
          yield;
        }
      }
    }
    this.count();
  }

  /** Tells the budget of the fields that were read. @throws PlimsollError `too_large` */
  count(): void {
    const fields = this.#fields;
    this.#fields = 0;
    this.#budget.addValues(fields);
  }

  /**
   * Reads each field of a message.
   * @throws OversizedMessage if it has too many fields, with those of the messages in it or without
   */
  read({ from, to }: ByteRange, take: TakeField): void {
    this.count();
    this.#reader.pos = from;
    this.#end = to;
    this.#fieldsUpTo(to, take);
  }

  /** Reads each field of the message in the current field. */
  nested(take: TakeField): void {
    const outer = this.#end;
    const to = this.#length();
    this.#end = to;
    this.#fieldsUpTo(to, take);
    this.#end = outer;
  }

  /** Where the message in the current field lies, with its length. It stays to be read. */
  ahead(): ByteRange {
    const from = this.#reader.pos;
    const to = this.#length();
    this.#reader.pos = from;
    return { from, to };
  }

  /** Goes back to a field and has it read. */
  within<T>({ from, to }: ByteRange, read: () => T): T {
    this.#reader.pos = from;
    this.#end = to;
    return read();
  }

  #fieldsUpTo(to: number, take: TakeField): void {
    const reader = this.#reader;
    let own = 0;
    while (reader.pos < to) {
      const [field, wireType] = reader.tag();
      this.#fields += 1;
      own += 1;
      if (own > BODY_LIMITS.fields) throw new OversizedMessage(tooManyFields("message"));
      if (!take(field)) this.#skip(field, wireType);
    }
    if (this.#fields > BODY_LIMITS.valuesOfOne)
      throw new OversizedMessage(`A record ${tooManyValues(this.#fields)}.`);
    this.#check();
  }

  #skip(field: number, wireType: WireType): void {
    // OTLP has no groups, and each may hold any number of others.
    if (wireType === WireType.StartGroup) throw new RangeError("A field is a group.");
    this.#reader.skip(wireType, field);
    this.#check();
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
