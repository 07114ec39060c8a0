import type { IncomingMessage, ServerResponse } from "node:http";
import { PlimsollError } from "../errors.ts";

export interface PageQueueLimits {
  /** Pages rendered at once. */
  atOnce: number;
  /** Pages that may wait for that. */
  waiting: number;
  /** Milliseconds after which a page that is not read to its end makes room for the next one. */
  holdMs: number;
}

const LIMITS: PageQueueLimits = { atOnce: 4, waiting: 200, holdMs: 1_000 };

/**
 * Bounds how many pages are rendered at once. A page takes some 10 ms of the only thread, and a client can ask for
 * thousands on one connection: without a bound, nothing else would be answered until all of them are rendered.
 */
export class PageQueue {
  readonly #limits: PageQueueLimits;
  readonly #waiting: (() => void)[] = [];
  #underWay = 0;

  constructor(limits: Partial<PageQueueLimits> = {}) {
    this.#limits = { ...LIMITS, ...limits };
  }

  /**
   * Resolves when it is this page's turn; with false if its client has left meanwhile.
   * @throws PlimsollError `overloaded` if too many wait
   */
  async enter({ socket }: IncomingMessage, outgoing: ServerResponse): Promise<boolean> {
    if (this.#underWay < this.#limits.atOnce) this.#underWay += 1;
    else await this.#turn();
    if (socket.destroyed) {
      this.#next();
      return false;
    }
    let left = false;
    const leave = () => {
      if (left) return;
      left = true;
      clearTimeout(late);
      this.#next();
    };
    const late = setTimeout(leave, this.#limits.holdMs);
    outgoing.once("close", leave);
    return true;
  }

  #turn(): Promise<void> {
    if (this.#waiting.length >= this.#limits.waiting) {
      throw new PlimsollError("overloaded", "Too many pages are asked for at once.");
    }
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** The place of a page that has left passes to the next one. */
  #next(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#underWay -= 1;
    else next();
  }
}
