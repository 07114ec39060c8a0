import pg from "pg";
import type { Logger } from "pino";
import type { Prisma } from "./client.ts";

/** Statements on one connection, answered in the order they are given; a new one need not wait for the last. */
export interface Sql {
  query<Row>(text: string, ...values: unknown[]): Promise<Row[]>;
  /** How many rows it touched. */
  execute(text: string, ...values: unknown[]): Promise<number>;
}

/** The connections of those who write events. */
export interface Writers {
  /** Commits when `run` resolves; rolls back, and rethrows, when it rejects. */
  transaction<T>(run: (sql: Sql) => Promise<T>): Promise<T>;
  end(): Promise<void>;
}

/** Milliseconds. A database that stands still must not hold requests for ever. */
const QUERY_TIMEOUT = 15_000;
const CONNECTION_WAIT = 5_000;

/**
 * Opens connections for the hot path, on the driver itself and pipelined. A group commit is a dozen small statements,
 * and each cost three times as much through the typed client as here; pipelined, most of them wait for no answer.
 */
export function openWriters(options: { url: string; size: number; log: Logger }): Writers {
  const pool = new pg.Pool({
    connectionString: options.url,
    max: options.size,
    application_name: "plimsoll writer",
    connectionTimeoutMillis: CONNECTION_WAIT,
    query_timeout: QUERY_TIMEOUT,
    keepAlive: true,
    pipeline: true,
  });
  pool.on("error", (err) => options.log.warn({ err }, "an idle writer lost its connection"));
  // One that is in use fails its statements, which is how its user hears of it; unheard, the event would end the process.
  pool.on("connect", (client) => client.on("error", () => {}));
  const names = new Map<string, string>();

  /** Every statement of the hot path is a constant, so each is prepared once a connection. */
  function nameOf(text: string): string {
    let name = names.get(text);
    if (name === undefined) {
      name = `w${names.size}`;
      names.set(text, name);
    }
    return name;
  }

  function sqlOf(client: pg.PoolClient): Sql {
    // Once a statement has failed, all that were given after it fail as well; who waits for several may hear of any of
    // them first, and is told of the one that was the reason.
    let reason: unknown;
    const run = (text: string, values: unknown[]) =>
      client.query({ name: nameOf(text), text, values }).catch((error: unknown) => {
        reason ??= error;
        throw reason;
      });
    return {
      query: async <Row>(text: string, ...values: unknown[]) => (await run(text, values)).rows as Row[],
      execute: async (text, ...values) => (await run(text, values)).rowCount ?? 0,
    };
  }

  return {
    async transaction(run) {
      const client = await pool.connect();
      let broken: Error | undefined;
      try {
        const [, result] = await Promise.all([client.query("BEGIN"), run(sqlOf(client))]);
        await client.query("COMMIT");
        return result;
      } catch (error) {
        await client.query("ROLLBACK").catch((err: Error) => {
          broken = err;
        });
        throw error;
      } finally {
        // A connection that cannot even roll back is not given to anybody else.
        client.release(broken);
      }
    },
    end: () => pool.end(),
  };
}

/** The same statements inside a transaction of the typed client. */
export function sqlOfClient(tx: Prisma.TransactionClient): Sql {
  return {
    query: (text, ...values) => tx.$queryRawUnsafe(text, ...values),
    execute: (text, ...values) => tx.$executeRawUnsafe(text, ...values),
  };
}
