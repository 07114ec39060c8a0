import { Socket } from "node:net";
import pg from "pg";
import type { Logger } from "pino";

/** Statements on one connection, answered in the order they are given; a new one need not wait for the last. */
export interface Sql {
  query<Row>(text: string, ...values: unknown[]): Promise<Row[]>;
  /** How many rows it touched. */
  execute(text: string, ...values: unknown[]): Promise<number>;
}

/** The statements of one transaction of a writer. */
export interface WriterSql extends Sql {
  /** Gives a statement nobody waits for: the transaction commits only when it succeeded. */
  send(text: string, ...values: unknown[]): void;
}

/** The connections of those who write events. */
export interface Writers {
  /**
   * Commits when `run` resolves and all its statements succeeded; else nothing is stored and it throws what went wrong
   * first. The commit is on its way together with the last statements, and not after their answers.
   */
  transaction<T>(run: (sql: WriterSql) => Promise<T>): Promise<T>;
  /** One statement by itself, committed when it resolves. */
  query<Row>(text: string, ...values: unknown[]): Promise<Row[]>;
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
    stream: gatheringSocket,
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

  return {
    async transaction(run) {
      const client = await pool.connect();
      const transaction = new Transaction(client, nameOf);
      let broken: Error | undefined;
      try {
        const result = await run(transaction);
        await transaction.commit();
        return result;
      } catch (error) {
        broken = await transaction.rollback();
        throw error;
      } finally {
        // A connection that cannot even roll back is not given to anybody else.
        client.release(broken);
      }
    },
    async query<Row>(text: string, ...values: unknown[]): Promise<Row[]> {
      const { rows } = await pool.query({ name: nameOf(text), text, values });
      return rows as Row[];
    },
    end: () => pool.end(),
  };
}

type Write = (...chunk: unknown[]) => boolean;

/** A socket that sends in one system call what is written at one go, as most of a transaction's statements are. */
function gatheringSocket(): Socket {
  const socket = new Socket();
  const write = socket.write.bind(socket) as Write;
  let gathering = false;
  const gather: Write = (...chunk) => {
    if (!gathering) {
      gathering = true;
      socket.cork();
      process.nextTick(() => {
        gathering = false;
        socket.uncork();
      });
    }
    return write(...chunk);
  };
  // Not before: `connect` puts back the method of the class.
  socket.once("connect", () => Object.assign(socket, { write: gather }));
  return socket;
}

class Transaction implements WriterSql {
  readonly #client: pg.PoolClient;
  readonly #nameOf: (text: string) => string;
  /** Why the first statement that failed did so: all that were given after it fail as well, for no reason of their own. */
  #reason: unknown;
  /** Whether the database has ended it, by a commit or by refusing one. */
  #ended = false;

  constructor(client: pg.PoolClient, nameOf: (text: string) => string) {
    this.#client = client;
    this.#nameOf = nameOf;
    this.#watch(client.query("BEGIN"));
  }

  async query<Row>(text: string, ...values: unknown[]): Promise<Row[]> {
    return (await this.#run(text, values)).rows as Row[];
  }

  async execute(text: string, ...values: unknown[]): Promise<number> {
    return (await this.#run(text, values)).rowCount ?? 0;
  }

  send(text: string, ...values: unknown[]): void {
    this.#watch(this.#client.query({ name: this.#nameOf(text), text, values }));
  }

  /** Answers come in order: when this one is there, all others are. A transaction that failed is only rolled back by it. */
  async commit(): Promise<void> {
    try {
      await this.#client.query("COMMIT");
      this.#ended = true;
    } catch (error) {
      this.#reason ??= error;
    }
    if (this.#reason !== undefined) throw this.#reason;
  }

  /** @returns what is wrong with the connection, if it cannot be used again */
  async rollback(): Promise<Error | undefined> {
    if (this.#ended) return undefined;
    return this.#client.query("ROLLBACK").then(
      () => undefined,
      (error: Error) => error,
    );
  }

  async #run(text: string, values: unknown[]): Promise<pg.QueryResult> {
    try {
      return await this.#client.query({ name: this.#nameOf(text), text, values });
    } catch (error) {
      this.#reason ??= error;
      throw this.#reason;
    }
  }

  #watch(statement: Promise<unknown>): void {
    statement.catch((error: unknown) => {
      this.#reason ??= error;
    });
  }
}
