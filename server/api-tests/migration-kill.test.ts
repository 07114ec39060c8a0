import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type pg from "pg";
import { pino } from "pino";
import { afterEach, beforeEach, describe, it } from "vitest";
import { migrate, readMigrations } from "../db/migrations/migrate.ts";
import { projectRoot } from "../root.ts";
import { connectTo, waitingBackends } from "../testing/backends.ts";
import { emptyDatabase } from "../testing/database.ts";
import { makeHome, removeHome, spawnTestServer, startTestServer } from "../testing/server.ts";
import { until } from "../testing/until.ts";

const log = pino({ level: "silent" });
let database: Awaited<ReturnType<typeof emptyDatabase>>;
let client: pg.Client;
let root: string;
let home: string;

const OTHERS =
  "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()";

beforeEach(async () => {
  home = await makeHome();
  database = await emptyDatabase();
  client = await connectTo(database.url);
  root = await mkdtemp(join(tmpdir(), "plimsoll-migrations-"));
  await cp(join(projectRoot(), "prisma"), join(root, "prisma"), { recursive: true });
  for (const { name } of await readMigrations()) {
    if (name >= "0011") await rm(join(root, "prisma", "migrations", name), { recursive: true });
  }
  await migrate({ url: database.url, log, root });
});
afterEach(async () => {
  await client.end();
  await database.close();
  await rm(root, { recursive: true });
  await removeHome(home);
});

describe("a server that is killed in the middle of a migration", () => {
  it.each(["the database rolls the migration back", "the database completes the migration"] as const)(
    "is completed by the next start if %s",
    async (outcome) => {
      const locker = await connectTo(database.url);
      await locker.query("BEGIN");
      await locker.query("LOCK TABLE turns IN ACCESS SHARE MODE");
      const server = await spawnTestServer(home, { DATABASE_URL: database.url });
      let pids: number[] = [];
      await until(async () => {
        pids = await waitingBackends(client, { type: "Lock", event: "relation" });
        return pids.length === 1;
      });
      server.kill("SIGKILL");
      await server.exited;
      if (outcome === "the database rolls the migration back")
        await client.query("SELECT pg_terminate_backend($1)", pids);
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
