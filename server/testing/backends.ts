import pg from "pg";

/** A connection of the test's own, outside the server's pools. */
export async function connectTo(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  // A test may end this connection from the other side, too.
  client.on("error", () => {});
  await client.connect();
  return client;
}

/** What a backend waits for, as pg_stat_activity names it. */
export interface BackendWait {
  /** Such as `Lock` or `IPC`. */
  type: string;
  /** Such as `transactionid`, `relation`, `advisory` or `SyncRep`. Absent: any. */
  event?: string;
  /** Part of the statement. Absent: any. */
  statement?: string;
}

/** Process ids of the other backends of this database that wait. */
export async function waitingBackends(
  client: pg.Client,
  { type, event, statement }: BackendWait,
): Promise<number[]> {
  const { rows } = await client.query<{ pid: number }>(
    `SELECT pid FROM pg_stat_activity
     WHERE datname = current_database() AND pid <> pg_backend_pid() AND wait_event_type = $1
       AND ($2::text IS NULL OR wait_event = $2) AND ($3::text IS NULL OR position($3 IN query) > 0)`,
    [type, event, statement],
  );
  return rows.map(({ pid }) => pid);
}
