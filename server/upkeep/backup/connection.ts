import pg from "pg";
import { connectionOptions } from "../../db/connections.ts";

/**
 * Rows must read the same whatever the database's own settings are. With one connection to each worker of Citus, all rows of a
 * project are of one moment; PostgreSQL without Citus ignores that setting.
 */
const SETTINGS = `
SELECT set_config(name, value, true) FROM (VALUES
  ('client_encoding', 'UTF8'), ('DateStyle', 'ISO'), ('IntervalStyle', 'postgres'), ('TimeZone', 'UTC'),
  ('extra_float_digits', '3'), ('bytea_output', 'hex'), ('synchronize_seqscans', 'off'),
  ('citus.max_adaptive_executor_pool_size', '1')
) AS setting (name, value)`;

/**
 * Runs `work` in one transaction, on a connection of its own. Commits when `work` resolves. A statement may take as long as
 * its data needs: a caller that stops reading or sending must abort the signal, which ends the transaction.
 * @param begin how the transaction begins, such as `BEGIN READ ONLY`
 */
export async function inOneTransaction<T>(
  url: string,
  begin: string,
  signal: AbortSignal,
  work: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const client = await open(url, begin, signal);
  try {
    const result = await work(client);
    await client.query("COMMIT");
    return result;
  } finally {
    // Rolls back what is not committed: PostgreSQL does so when a connection ends.
    await client.end().catch(() => {});
  }
}

/** A connection inside a transaction. The caller ends it. */
export async function open(url: string, begin: string, signal: AbortSignal): Promise<pg.Client> {
  signal.throwIfAborted();
  // No limit on a statement: COPY runs for as long as the other end takes rows or sends them.
  const { onConnect, ...options } = connectionOptions(url, "maintenance", { statement: 0, answer: 0 });
  const client = new pg.Client(options);
  // A lost connection fails the statement. Without a listener the event would end the process.
  client.on("error", () => {});
  // Cuts the connection if a statement is running.
  const leave = () => void client.end().catch(() => {});
  signal.addEventListener("abort", leave, { once: true });
  client.once("end", () => signal.removeEventListener("abort", leave));
  try {
    await client.connect();
    await onConnect(client);
    await client.query(begin);
    await client.query(SETTINGS);
    return client;
  } catch (error) {
    void client.end().catch(() => {});
    throw error;
  }
}
