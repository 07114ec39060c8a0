import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { pino } from "pino";
import { expect, test } from "vitest";
import { projectRoot } from "../../root.ts";
import { emptyDatabase } from "../../testing/database.ts";
import { migrate, readMigrations } from "./migrate.ts";

const log = pino({ level: "silent" });

test("the migration keeps every name that rollups have, also beyond the limit", async () => {
  const root = await mkdtemp(join(tmpdir(), "plimsoll-migrations-"));
  const database = await emptyDatabase();
  const client = new pg.Client(database.url);
  try {
    await cp(join(projectRoot(), "prisma"), join(root, "prisma"), { recursive: true });
    for (const { name } of await readMigrations()) {
      if (name >= "0013") await rm(join(root, "prisma", "migrations", name), { recursive: true });
    }
    await migrate({ url: database.url, log, root });
    await client.connect();
    // A bucket before midnight and one after it, each with all of its names; and the rows of all of them.
    await client.query(`
      INSERT INTO rollups (project_id, grain, bucket, harness, model, turns, missing, fresh, cache_read, cache_write,
        output, cost_micros, bins)
      SELECT 1, g, b, h, CASE WHEN h = '' THEN '' ELSE 'm' END, 1, 0, 0, 0, 0, 0, 0, '{}'
      FROM unnest('{60,360}'::int[]) g, unnest('{2026-11-20T18:00Z,2026-11-21T00:00Z}'::timestamptz[]) b,
        (SELECT 'h' || n AS h FROM generate_series(1, 600) n UNION ALL SELECT '') names;
      INSERT INTO boundary_rollups (project_id, grain, bucket, harness, type, count, reclaimed)
      SELECT 1, 360, '2026-11-20T18:00Z', h, t, 1, 0
      FROM unnest('{h1,h2,""}'::text[]) h, unnest('{masked,cleared}'::text[]) t;
      INSERT INTO models VALUES (1, 7, 'm');`);
    await migrate({ url: database.url, log });
    const { rows } = await client.query(`
      SELECT to_char(day AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI') AS day, model, count(*)::int4 AS names,
        bool_and(before_limit) AS kept
      FROM rollup_names WHERE harness <> '' GROUP BY 1, 2 ORDER BY 1, 2`);
    expect(rows).toEqual([
      { day: "2026-11-20 00:00", model: "", names: 2, kept: true },
      { day: "2026-11-20 00:00", model: "m", names: 600, kept: true },
      { day: "2026-11-21 00:00", model: "m", names: 600, kept: true },
    ]);
    const all = await client.query("SELECT count(*)::int4 AS names FROM rollup_names");
    expect(all.rows).toEqual([{ names: 1_202 }]);
  } finally {
    await client.end();
    await database.close();
    await rm(root, { recursive: true });
  }
});
