import pg from "pg";
import { connectionOptions } from "../../db/connections.ts";
import type { Sql } from "../../db/sql.ts";

/** Thrown if the time of a check is over, or if PostgreSQL cancelled a statement that took too long. */
export class OutOfTime extends Error {
  constructor() {
    super("the time for this check is over");
  }
}

/** Milliseconds one statement may take. */
const STATEMENT_MS = 10_000;
/** Compiling these statements takes longer than it saves. */
const BEGIN = `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL jit = off;
  SET LOCAL idle_in_transaction_session_timeout = ${STATEMENT_MS}`;
/** Below this a statement is not worth starting. */
const LEAST_MS = 50;
const QUERY_CANCELED = "57014";

/**
 * Reads, on a connection of its own, so the examination takes none from the pages or the writers. A pooler may give each
 * transaction another session, so every transaction brings its settings and no statement has a name.
 */
export class DoctorConnection {
  readonly #client: pg.Client;
  readonly #clock: () => number;

  private constructor(client: pg.Client, clock: () => number) {
    this.#client = client;
    this.#clock = clock;
  }

  /** @param clock milliseconds; only differences count */
  static async open(url: string, clock: () => number): Promise<DoctorConnection> {
    const limits = { statement: STATEMENT_MS, answer: 2 * STATEMENT_MS, idleInTransaction: STATEMENT_MS };
    const { onConnect, ...connection } = connectionOptions(url, "maintenance", limits);
    // Pipelined, because a fold reads turns, marks and crossings at once.
    const client = new pg.Client({ ...connection, pipeline: true });
    // A lost connection fails the statement. Without a listener the event would end the process.
    client.on("error", () => {});
    await client.connect();
    await onConnect(client);
    return new DoctorConnection(client, clock);
  }

  /**
   * Runs with everything it reads of one moment. Each statement is cancelled after 10 s, or at the deadline.
   * @throws OutOfTime
   */
  async atOneMoment<T>(deadline: number, run: (sql: Pick<Sql, "query">) => Promise<T>): Promise<T> {
    await this.#client.query(BEGIN);
    try {
      return await run(this.#limited(deadline));
    } catch (error) {
      throw (error as { code?: unknown }).code === QUERY_CANCELED ? new OutOfTime() : error;
    } finally {
      await this.#client.query("ROLLBACK").catch(() => {});
    }
  }

  close(): Promise<void> {
    return this.#client.end().catch(() => {});
  }

  #limited(deadline: number): Pick<Sql, "query"> {
    let limit = Number.POSITIVE_INFINITY;
    return {
      query: async <Row>(text: string, ...values: unknown[]): Promise<Row[]> => {
        const left = Math.min(STATEMENT_MS, deadline - this.#clock());
        if (left < LEAST_MS) throw new OutOfTime();
        // A statement of its own for each change of the limit: only where it matters.
        if (limit > 2 * left) {
          limit = left;
          const ms = String(Math.ceil(left));
          await this.#client.query("SELECT set_config('statement_timeout', $1, true)", [ms]);
        }
        const { rows } = await this.#client.query({ text, values });
        return rows as Row[];
      },
    };
  }
}
