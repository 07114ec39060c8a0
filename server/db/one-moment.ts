import { connectionOptions } from "./connections.ts";
import { PreparingClient, statementNames } from "./prepared-statements.ts";
import type { Sql } from "./sql.ts";

/** Milliseconds one statement may take. */
const STATEMENT_MS = 30_000;

/**
 * Runs statements that all see the database at one moment, on a connection that no page and no writer waits for.
 * @param signal ends the statement that runs, and lets no other begin
 */
export async function atOneMoment<T>(
  url: string,
  signal: AbortSignal,
  run: (sql: Pick<Sql, "query">) => Promise<T>,
): Promise<T> {
  const limits = { statement: STATEMENT_MS, answer: 2 * STATEMENT_MS };
  const { onConnect, ...options } = connectionOptions(url, "maintenance", limits);
  const client = new PreparingClient(options);
  // A lost connection fails the statement. Without a listener the event would end the process.
  client.on("error", () => {});
  const nameOf = statementNames();
  // During a statement this closes the socket, and PostgreSQL notices.
  const cancel = () => void client.end().catch(() => {});
  signal.addEventListener("abort", cancel);
  try {
    await client.connect();
    await onConnect(client);
    await client.query("SELECT set_config('jit', 'off', false)");
    await client.query("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
    return await run({
      query: async <Row>(text: string, ...values: unknown[]) => {
        signal.throwIfAborted();
        return (await client.query({ name: nameOf(text), text, values })).rows as Row[];
      },
    });
  } finally {
    signal.removeEventListener("abort", cancel);
    await client.end().catch(() => {});
  }
}
