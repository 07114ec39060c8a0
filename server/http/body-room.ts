import { LIMITS } from "@plimsoll/protocol/events";
import { BodyBudget, type BodyMemory } from "../bodies/body-budget.ts";
import { FairTurns } from "../bodies/fair-turns.ts";
import { PlimsollError } from "../errors.ts";

/** Seconds a sender that found no room should wait. */
const RETRY_AFTER = 1;

/** What the largest request needs, in bytes: as it came, decompressed in parts, and the parts joined. */
export const LARGEST_REQUEST = LIMITS.compressedBytes + 2 * LIMITS.decompressedBytes + 1024 * 1024;

/**
 * Bounds the bytes of all request bodies in memory together, and of the values parsed from them: each may be within its own limit, and a hundred of them
 * still be more than the machine has. One project gets at most half, or the largest request if that is more, so that
 * bodies that arrive slowly keep no other project out.
 */
export class BodyRoom {
  /** The time for reading bodies, which they share as well. */
  readonly turns = new FairTurns();
  readonly #limit: number;
  readonly #share: number;
  readonly #byProject = new Map<number, number>();
  #held = 0;

  constructor(limitBytes: number) {
    this.#limit = limitBytes;
    this.#share = Math.max(limitBytes / 2, Math.min(limitBytes, LARGEST_REQUEST));
  }

  /** Bytes held by all requests. */
  get held(): number {
    return this.#held;
  }

  enter(projectId: number): BodyHold {
    return new BodyHold(this, projectId);
  }

  /** @throws PlimsollError `overloaded` with `details.retry_after_seconds` when so many bytes more do not fit */
  take(projectId: number, bytes: number): void {
    const own = (this.#byProject.get(projectId) ?? 0) + bytes;
    if (this.#held + bytes > this.#limit) throw noRoom("The requests under way", this.#limit);
    if (own > this.#share) throw noRoom("The requests of this project", this.#share);
    this.#byProject.set(projectId, own);
    this.#held += bytes;
  }

  give(projectId: number, bytes: number): void {
    const left = (this.#byProject.get(projectId) ?? 0) - bytes;
    if (left > 0) this.#byProject.set(projectId, left);
    else this.#byProject.delete(projectId);
    this.#held -= bytes;
  }
}

function noRoom(who: string, bytes: number): PlimsollError {
  return new PlimsollError(
    "overloaded",
    `${who} fill the ${bytes} bytes the server has for them. Send the same body again after ${RETRY_AFTER} s.`,
    { details: { retry_after_seconds: RETRY_AFTER } },
  );
}

/** What one request holds of the room. */
export class BodyHold implements BodyMemory {
  readonly budget = new BodyBudget(this);
  readonly #room: BodyRoom;
  readonly #projectId: number;
  #own = 0;

  constructor(room: BodyRoom, projectId: number) {
    this.#room = room;
    this.#projectId = projectId;
  }

  /** @throws PlimsollError `overloaded`, see `BodyRoom.take` */
  take(bytes: number): void {
    this.#room.take(this.#projectId, bytes);
    this.#own += bytes;
  }

  give(bytes: number): void {
    this.#room.give(this.#projectId, bytes);
    this.#own -= bytes;
  }

  /** Gives back all that was taken; doing it again changes nothing. */
  leave(): void {
    this.#room.give(this.#projectId, this.#own);
    this.#own = 0;
  }
}
