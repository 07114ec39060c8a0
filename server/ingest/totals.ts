import type { Logger } from "pino";
import type { PrismaClient } from "../db/client.ts";
import type { Writers } from "../db/sql.ts";
import { SharedReads } from "../shared-reads.ts";
import { settleRound } from "./settle.ts";

/** Milliseconds what a commit left pending waits for more of it. A reader does not wait: it settles what it finds. */
const LINGER = 1_000;
/** Milliseconds until a settling that failed is tried again. */
const RETRY = 2_000;

export interface TotalsOptions {
  prisma: PrismaClient;
  writers: Writers;
  log: Logger;
}

/**
 * Sessions, rollups, harnesses and counts. A transaction that writes events only leaves in `pending_totals` what it adds
 * to them, and which sessions it moved; here they are brought up to it, for many transactions together.
 */
export class Totals {
  readonly #options: TotalsOptions;
  readonly #shared = new SharedReads();
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(options: TotalsOptions) {
    this.#options = options;
  }

  /**
   * When it resolves, everything that was committed before it was called is in the totals, whoever committed it. Those
   * who call at the same time share the work; nobody is given what was begun before they called.
   */
  settle(): Promise<void> {
    return this.#shared.ask("settle", () => this.#settle());
  }

  /** Something was left pending: settles it in a while. */
  soon(): void {
    this.#schedule(LINGER);
  }

  /** Settles what is left, as far as the database is there to do so; what is not, the next start settles. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await this.#tryToSettle();
  }

  #schedule(wait: number): void {
    if (this.#closed) return;
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      void this.#tryToSettle().then((settled) => {
        if (!settled) this.#schedule(RETRY);
      });
    }, wait).unref();
  }

  async #tryToSettle(): Promise<boolean> {
    try {
      await this.settle();
      return true;
    } catch (error) {
      this.#options.log.warn({ err: error }, "totals could not be settled yet");
      return false;
    }
  }

  async #settle(): Promise<void> {
    const { prisma, writers } = this.#options;
    // In the order of the key: from the index, not past all the rows that were here.
    const pending = await prisma.$queryRaw<
      unknown[]
    >`SELECT 1 FROM pending_totals ORDER BY project_id, id LIMIT 1`;
    if (pending.length === 0) return;
    while (await writers.transaction(settleRound));
  }
}
