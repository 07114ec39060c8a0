import { PlimsollError } from "../errors.ts";

/** Seconds a sender that found no room should wait. */
const RETRY_AFTER = 1;

/**
 * Bounds the bytes of all request bodies in memory together, as they came and once more as they were decompressed: each
 * may be within its own limit, and a hundred of them still be more than the machine has.
 */
export class BodyRoom {
  readonly #limit: number;
  #held = 0;

  constructor(limitBytes: number) {
    this.#limit = limitBytes;
  }

  /** Bytes held by all requests. */
  get held(): number {
    return this.#held;
  }

  enter(): BodyHold {
    return new BodyHold(this);
  }

  /** @throws PlimsollError `overloaded` with `details.retry_after_seconds` when so many bytes more do not fit */
  take(bytes: number): void {
    if (this.#held + bytes > this.#limit) {
      throw new PlimsollError(
        "overloaded",
        `The requests under way fill the ${this.#limit} bytes the server has for them. Send the same events again after ${RETRY_AFTER} s.`,
        { details: { retry_after_seconds: RETRY_AFTER } },
      );
    }
    this.#held += bytes;
  }

  give(bytes: number): void {
    this.#held -= bytes;
  }
}

/** What one request holds of the room. */
export class BodyHold {
  readonly #room: BodyRoom;
  #own = 0;

  constructor(room: BodyRoom) {
    this.#room = room;
  }

  /** @throws PlimsollError `overloaded`, see `BodyRoom.take` */
  take(bytes: number): void {
    this.#room.take(bytes);
    this.#own += bytes;
  }

  /** Gives back all that was taken; doing it again changes nothing. */
  leave(): void {
    this.#room.give(this.#own);
    this.#own = 0;
  }
}
