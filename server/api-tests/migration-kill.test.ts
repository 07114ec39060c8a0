import type pg from "pg";
import { afterEach, beforeEach, describe, it } from "vitest";
import { connectTo, waitingBackends } from "../testing/backends.ts";
import { emptyDatabase } from "../testing/database.ts";
import { makeHome, removeHome, spawnTestServer, startTestServer } from "../testing/server.ts";
import { until } from "../testing/until.ts";

let database: Awaited<ReturnType<typeof emptyDatabase>>;
let client: pg.Client;
let home: string;

const OTHERS =
  "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()";

beforeEach(async () => {
  home = await makeHome();
  database = await emptyDatabase();
  client = await connectTo(database.url);
});
afterEach(async () => {
  await client.end();
  await database.close();
  await removeHome(home);
});

describe("a server that is killed in the middle of a migration", () => {
  it.each(["ends the session", "completes the statement"] as const)(
    "is replaced by the next start if the database %s",
    async (outcome) => {
      // The migration waits for this table, which is among its last.
      const locker = await connectTo(database.url);
      await locker.query("BEGIN");
      await locker.query("CREATE TABLE session_views (id int)");
      const server = await spawnTestServer(home, { DATABASE_URL: database.url });
      let pids: number[] = [];
      await until(async () => {
        pids = await waitingBackends(client, { type: "Lock", event: "transactionid" });
        return pids.length === 1;
      });
      server.kill("SIGKILL");
      await server.exited;
      if (outcome === "ends the session") await client.query("SELECT pg_terminate_backend($1)", pids);
      await locker.end();
      await until(async () => (await client.query(OTHERS)).rowCount === 0);

      const next = await startTestServer({ databaseUrl: database.url });
      try {
        await next.expectHealthy();
      } finally {
        await next.stop();
      }
    },
  );
});
