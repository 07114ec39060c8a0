import { LIMITS } from "@plimsoll/protocol/events";
import { PlimsollError } from "../errors.ts";

/** Limits of every body on every route, checked while the body is read; see docs/decisions/0092. */
export const BODY_LIMITS = {
  /** Times that a compressed body may grow, at any size. */
  expansion: 250,
  /** Lists and objects within one another. A structured attribute of OTLP takes four for each of its levels. */
  depth: 256,
  /** Values of JSON or fields of protobuf in a body. */
  values: 4_000_000,
  /** Values or fields of one event, one record, or one call: what is decoded without a pause. */
  valuesOfOne: 100_000,
  /** Fields of one object or message. */
  fields: 10_000,
} as const;

/** Bytes of memory that a parsed value takes, on average at most. */
const VALUE_BYTES = 64;
/** Bytes, and values, that cost the server as much time as an event does. */
const BYTES_PER_EVENT = 8 * 1024;
const VALUES_PER_EVENT = 400;

/** Where the memory of a body is accounted for. */
export interface BodyMemory {
  /** @throws PlimsollError `overloaded` */
  take(bytes: number): void;
  give(bytes: number): void;
}

/** What one body has cost so far. */
export class BodyBudget {
  readonly memory: BodyMemory;
  #bytes = 0;
  #values = 0;

  constructor(memory: BodyMemory) {
    this.memory = memory;
  }

  /** The work done, in events that cost as much; 0 for less than one. */
  get cost(): number {
    return Math.floor(this.#bytes / BYTES_PER_EVENT + this.#values / VALUES_PER_EVENT);
  }

  /** Counts bytes that arrived, or came out of decompression. */
  addBytes(bytes: number): void {
    this.#bytes += bytes;
  }

  /** @throws PlimsollError `too_large` */
  addValues(values: number): void {
    this.#values += values;
    if (this.#values > BODY_LIMITS.values)
      throw overLimit(`The body has more than ${BODY_LIMITS.values} values.`, BODY_LIMITS.values, "values");
  }

  /** Reserves memory for values that are going to be parsed. @throws PlimsollError `overloaded` */
  holdValues(values: number): void {
    this.memory.take(values * VALUE_BYTES);
  }

  /** Runs `work` while the memory for parsed values is reserved. */
  *holding<T, R>(values: number, work: Generator<T, R>): Generator<T, R> {
    this.holdValues(values);
    try {
      return yield* work;
    } finally {
      this.memory.give(values * VALUE_BYTES);
    }
  }
}

/** A body over a limit. @param what a sentence */
export function overLimit(what: string, limit: number, unit: string): PlimsollError {
  return new PlimsollError("too_large", `${what} Send smaller batches.`, { details: { limit, unit } });
}

/** Why an event, a record or a call has too many values to be parsed; undefined if it has not. */
export function tooManyValues(values: number): string | undefined {
  if (values <= BODY_LIMITS.valuesOfOne) return undefined;
  return `has ${values} values; the limit is ${BODY_LIMITS.valuesOfOne}`;
}

/** @param position index in bytes */
export function tooDeep(position: number): PlimsollError {
  return new PlimsollError(
    "bad_request",
    `The body nests lists and objects more than ${BODY_LIMITS.depth} deep at byte ${position}. Send it with less nesting.`,
    { details: { limit: BODY_LIMITS.depth, unit: "levels", position } },
  );
}

export const tooManyFields = (what: "object" | "message"): string =>
  `One ${what} has more than ${BODY_LIMITS.fields} fields.`;

/** @param limit in bytes */
export function tooManyBytes(bytes: number | undefined, limit: number): PlimsollError {
  const size = bytes === undefined ? "" : ` of ${bytes} bytes`;
  return new PlimsollError(
    "too_large",
    `The body${size} is over the limit of ${limit} bytes. Compress it or send smaller batches.`,
    { details: { limit, unit: "bytes" } },
  );
}

/** Bytes looked at between two pauses: about half a millisecond. */
export const PAUSE_BYTES = LIMITS.eventBytes;
