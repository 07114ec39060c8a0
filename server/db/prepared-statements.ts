import { createHash } from "node:crypto";
import pg from "pg";

/**
 * Names statements by a hash of their text, so that a name never stands for two statements, also when a pooler
 * gives one PostgreSQL session to several processes.
 * @param limit texts beyond it get no name and are parsed each time
 */
export function statementNames(limit = Number.POSITIVE_INFINITY): (text: string) => string {
  const names = new Map<string, string>();
  return (text) => {
    const known = names.get(text);
    if (known !== undefined) return known;
    if (names.size >= limit) return "";
    const name = `p_${createHash("sha256").update(text).digest("base64url").slice(0, 16)}`;
    names.set(text, name);
    return name;
  };
}

/**
 * True when a prepared statement no longer fits: the schema changed under it, or a pooler moved the connection
 * to another session. The same statement succeeds under a new name.
 */
export function isStaleStatement(error: unknown): boolean {
  const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown };
  // No such statement; a statement with this name exists.
  if (code === "26000" || code === "42P05") return true;
  return code === "0A000" && /cached plan must not change result type/.test(String(message));
}

/** Names tried on one connection before its statements go without: behind some poolers no name works. */
const GENERATIONS = 3;

type Callback = (error: Error | undefined, result?: pg.QueryResult) => void;

/**
 * A connection that prepares its statements again after one turned stale. Outside a transaction it also runs the
 * statement again, so that the caller does not notice. Inside one PostgreSQL has rolled back already, and the
 * caller gets the error.
 */
export class PreparingClient extends pg.Client {
  #generation = 0;

  // The base class has a dozen overloads. Pools and Prisma give an object with a name, and maybe a callback.
  // biome-ignore lint/suspicious/noExplicitAny: the arguments are passed on untouched
  override query(...args: any[]): any {
    const [config, values, callback] = args as [pg.QueryConfig | undefined, unknown, Callback | undefined];
    const send = super.query as (...given: unknown[]) => Promise<pg.QueryResult>;
    if (typeof config?.name !== "string" || config.name === "") return send.apply(this, args);
    const generation = this.#generation;
    const answer = send.call(this, this.#renamed(config, generation), values).catch((error: unknown) => {
      if (!isStaleStatement(error)) throw error;
      // Statements sent before the first answer fail as well; they count once.
      if (this.#generation === generation) this.#generation += 1;
      if (this.getTransactionStatus() !== "I") throw error;
      return send.call(this, { ...config, name: undefined }, values);
    });
    if (callback === undefined) return answer;
    answer.then(
      (result) => callback(undefined, result),
      (error: Error) => callback(error),
    );
  }

  #renamed(config: pg.QueryConfig, generation: number): pg.QueryConfig {
    if (generation === 0) return config;
    return { ...config, name: generation < GENERATIONS ? `${config.name}_${generation}` : undefined };
  }
}
