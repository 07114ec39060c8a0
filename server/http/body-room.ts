import { PlimsollError } from "../errors.ts";

/** Seconds a sender that found no room should wait. */
const RETRY_AFTER = 1;

/** What one request holds of the room. */
export interface BodyHold {
  /** @throws PlimsollError `overloaded` with `details.retry_after_seconds` when so many bytes more do not fit */
  take(bytes: number): void;
  /** Gives back all that was taken; doing it again changes nothing. */
  leave(): void;
}

/**
 * Bounds the bytes of all request bodies in memory together, as they came and once more as they were decompressed: each
 * may be within its own limit, and a hundred of them still be more than the machine has.
 */
export class BodyRoom {
  readonly #limit: number;
  readonly #changed: (held: number) => void;
  #held = 0;

  /** `changed` is told the bytes held whenever they change. */
  constructor(limitBytes: number, changed: (held: number) => void = () => {}) {
    this.#limit = limitBytes;
    this.#changed = changed;
  }

  /** Bytes held by all requests. */
  get held(): number {
    return this.#held;
  }

  enter(): BodyHold {
    let own = 0;
    return {
      take: (bytes) => {
        if (this.#held + bytes > this.#limit) {
          throw new PlimsollError(
            "overloaded",
            `The requests under way fill the ${this.#limit} bytes the server has for them. Send the same events again after ${RETRY_AFTER} s.`,
            { details: { retry_after_seconds: RETRY_AFTER } },
          );
        }
        own += bytes;
        this.#held += bytes;
        this.#changed(this.#held);
      },
      leave: () => {
        this.#held -= own;
        own = 0;
        this.#changed(this.#held);
      },
    };
  }
}
