import { Socket } from "node:net";
import pg from "pg";
import type { Logger } from "pino";
import type { PrismaClient } from "./client.ts";
import { type ConnectionLimits, connectionOptions } from "./connections.ts";
import { isStaleStatement, statementNames } from "./prepared-statements.ts";
import { type UnavailableReason, unavailableReason } from "./unavailable.ts";
import { CLOSE_LIMIT, within } from "./within.ts";

/** Statements on one connection, answered in the order they are sent. A statement may be sent before the last one is answered. */
export interface Sql {
  query<Row>(text: string, ...values: unknown[]): Promise<Row[]>;
  /** @returns the number of rows it changed */
  execute(text: string, ...values: unknown[]): Promise<number>;
}

/** Runs statements on the typed client. */
export function queriesOf({ prisma }: { prisma: PrismaClient }): Pick<Sql, "query"> {
  return { query: (text, ...values) => prisma.$queryRawUnsafe(text, ...values) };
}

/** The statements of one transaction of a writer. */
export interface WriterSql extends Sql {
  /** Sends a statement without waiting for its answer. The transaction commits only when it succeeded. */
  send(text: string, ...values: unknown[]): void;
}

/** Milliseconds for which a failed write stands for the state of the database. */
const FAILURE_MS = 10_000;

const WRITES = /^\s*(INSERT|UPDATE|DELETE|MERGE)\b/i;

/** Attempts at a transaction whose prepared statements do not fit any more. */
const STALE_ATTEMPTS = 5;

/** The connections for writing events. */
export interface Writers {
  /**
   * Commits when `run` resolves and all its statements succeeded. Otherwise stores nothing and throws the first error.
   * COMMIT is sent together with the last statements, without waiting for their answers.
   *
   * Calls `run` again when a schema change made its prepared statements stale, so `run` must not keep state between calls.
   */
  transaction<T>(run: (sql: WriterSql) => Promise<T>): Promise<T>;
  /** Runs one statement by itself. It is committed when the promise resolves. */
  query<Row>(text: string, ...values: unknown[]): Promise<Row[]>;
  /** Why the database refused the last write; undefined once one succeeds, and 10 s after the failure. */
  failure(): UnavailableReason | undefined;
  /** Closes the connections. Waits 3 s at most for transactions that are not finished. Never throws. */
  end(): Promise<void>;
}

/**
 * Opens connections for the hot path, on the driver itself and pipelined. A group commit is a dozen small
 * statements. Each costs a third of what it does through the typed client, and most wait for no answer.
 * @param options.size the most connections it opens
 * @param options.limits replaces single limits of the purpose `writer`, in milliseconds
 */
export function openWriters(options: {
  url: string;
  size: number;
  log: Logger;
  limits?: Partial<ConnectionLimits>;
}): Writers {
  const pool = new pg.Pool({
    ...connectionOptions(options.url, "writer", options.limits),
    max: options.size,
    pipeline: true,
    stream: gatheringSocket,
  });
  pool.on("error", (err) => options.log.warn({ err }, "an idle writer connection was lost"));
  // A connection in use reports its loss through its statements. Without a listener the event would end the process.
  pool.on("connect", (client) => client.on("error", () => {}));
  // Every statement of the hot path is a constant, so each connection prepares it once.
  const nameOf = statementNames();

  async function attempt<T>(run: (sql: WriterSql) => Promise<T>): Promise<T> {
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
      // A connection that cannot roll back is closed instead of going back to the pool.
      client.release(broken);
    }
  }

  let failed: { reason: UnavailableReason; at: number } | undefined;

  function note(error: unknown): void {
    const reason = unavailableReason(error);
    // A conflict is between two transactions; a third one may well succeed.
    if (reason !== undefined && reason !== "conflict") failed = { reason, at: Date.now() };
  }

  return {
    async transaction(run) {
      for (let attempts = 1; ; attempts++) {
        try {
          const result = await attempt(run);
          failed = undefined;
          return result;
        } catch (error) {
          if (isStaleStatement(error) && attempts < STALE_ATTEMPTS) continue;
          note(error);
          throw error;
        }
      }
    },
    async query<Row>(text: string, ...values: unknown[]): Promise<Row[]> {
      const writes = WRITES.test(text);
      try {
        const { rows } = await pool.query({ name: nameOf(text), text, values });
        if (writes) failed = undefined;
        return rows as Row[];
      } catch (error) {
        if (writes) note(error);
        throw error;
      }
    },
    failure: () => (failed !== undefined && Date.now() - failed.at < FAILURE_MS ? failed.reason : undefined),
    end: () =>
      within(CLOSE_LIMIT, pool.end()).catch((err) => {
        options.log.warn({ err }, "writer connections did not close in time; leaving them");
      }),
  };
}

type Write = (...chunk: unknown[]) => boolean;

/** A socket that sends everything written in one tick with one system call, such as the statements of a transaction. */
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
  // `connect` restores the method of the class, so replace it afterwards.
  socket.once("connect", () => Object.assign(socket, { write: gather }));
  return socket;
}

class Transaction implements WriterSql {
  readonly #client: pg.PoolClient;
  readonly #nameOf: (text: string) => string;
  /** The error of the first statement that failed. The statements after it fail because of it. */
  #reason: unknown;
  /** True once COMMIT was answered, or refused and rolled back. */
  #ended = false;
  /** True once COMMIT or ROLLBACK is on its way. */
  #closing = false;

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
    this.#checkOpen();
    this.#watch(this.#client.query({ name: this.#nameOf(text), text, values }));
  }

  /** Answers come in order, so the answer to COMMIT means that all others arrived. COMMIT rolls back a failed transaction. */
  async commit(): Promise<void> {
    this.#closing = true;
    try {
      const { command } = await this.#client.query("COMMIT");
      this.#ended = true;
      // The database answers ROLLBACK if a statement failed. The handler of that failure may run only after this line.
      if (command !== "COMMIT") {
        await new Promise(setImmediate);
        this.#reason ??= new Error("the database rolled the transaction back");
      }
    } catch (error) {
      this.#reason ??= error;
    }
    if (this.#reason !== undefined) throw this.#reason;
  }

  /** @returns why the connection cannot be used again; undefined when it can */
  async rollback(): Promise<Error | undefined> {
    this.#closing = true;
    if (this.#ended) return undefined;
    return this.#client.query("ROLLBACK").then(
      () => undefined,
      (error: Error) => error,
    );
  }

  /** A late statement would run outside the transaction, or inside somebody else's. */
  #checkOpen(): void {
    if (this.#closing) throw new Error("the transaction is over: no statement can follow COMMIT or ROLLBACK");
  }

  async #run(text: string, values: unknown[]): Promise<pg.QueryResult> {
    this.#checkOpen();
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
