import type { Transaction } from "./client.ts";
import type { Sql } from "./sql.ts";

const ASK = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now";

/**
 * The database's clock, as this process can tell: several servers agree on it, whatever their own clocks say. Corrected
 * by every journal commit.
 */
export class DatabaseClock {
  readonly #local: () => number;
  #offset = 0;

  /** `local` gives epoch ms. */
  constructor(local: () => number) {
    this.#local = local;
  }

  /** Epoch ms. */
  now(): number {
    return this.#local() + this.#offset;
  }

  /**
   * Call it before a question that the database answers with its time, and the result with that time in epoch ms. The
   * database said it at some moment between the two calls. A process that stood still hears the answer late, so only what
   * contradicts both moments is corrected.
   */
  asking(): (told: number) => void {
    const asked = this.#local();
    return (told) => {
      const heard = this.#local();
      // A local clock that was set back meanwhile tells nothing of when the question was asked.
      const most = told - Math.min(asked, heard);
      this.#offset = Math.min(Math.max(this.#offset, told - heard), most);
    };
  }

  /** Asks the database for its time. */
  async ask(sql: Pick<Sql, "query">): Promise<void> {
    const answered = this.asking();
    const [told] = await sql.query<{ now: number }>(ASK);
    answered(told!.now);
  }
}

/** The database's clock, as every server sees it. */
export async function databaseTime(client: Pick<Transaction, "$queryRaw">): Promise<Date> {
  const [row] = await client.$queryRaw<{ now: Date }[]>`SELECT clock_timestamp() AS now`;
  return row!.now;
}
