import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Client } from "pg";
import { makeKey } from "../server/key-format.ts";
import { createClient } from "../server/testing/client.ts";
import type { BenchServer } from "./server.ts";

const POLL = 50;
/** Longest wait for the projection of what was sent, ms. */
const DRAIN_LIMIT = 300_000;
/** Longest wait for upkeep, ms. It begins up to a minute after old events. */
const UPKEEP_LIMIT = 1_800_000;

export interface Progress {
  /** Events journaled and not projected. */
  backlog: number;
  /** Bytes written to the WAL so far. */
  wal: number;
}

export async function readProgress(client: Client): Promise<Progress> {
  const { rows } = await client.query<Progress>(
    `SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8 AS wal,
       (SELECT COALESCE(sum(events), 0)::float8 FROM journal) AS backlog`,
  );
  return rows[0]!;
}

/** Waits until everything journaled is projected, then gathers statistics, as autovacuum would within a minute. */
export async function settle(client: Client): Promise<void> {
  const until = performance.now() + DRAIN_LIMIT;
  for (;;) {
    const { backlog } = await readProgress(client);
    if (backlog === 0) break;
    if (performance.now() > until) throw new Error(`${backlog} events are still not projected.`);
    await sleep(POLL);
  }
  // Without statistics the doctor's queries get poor plans.
  await client.query("ANALYZE");
}

const UPKEEP_LEFT = `
SELECT EXISTS (SELECT 1 FROM agents WHERE uncounted) OR EXISTS (
  SELECT 1 FROM rollups WHERE grain = 1 AND harness = '' AND bucket < date_bin('1 hour', now(), 'epoch') - interval '2 days') AS left`;

/** Waits until the server has counted what came of tool calls and packed old minutes, then makes what they left reusable. */
export async function upkeepDone(client: Client): Promise<void> {
  const until = performance.now() + UPKEEP_LIMIT;
  while ((await client.query<{ left: boolean }>(UPKEEP_LEFT)).rows[0]!.left) {
    if (performance.now() > until) throw new Error("The upkeep is still not done.");
    await sleep(1_000);
  }
  // Autovacuum would do so within a minute.
  await client.query("VACUUM (ANALYZE)");
}

export interface Storage {
  turns: number;
  /** Bytes of the blocks of turns without their index. */
  table: number;
  /** Bytes of the index of the blocks. */
  indexes: number;
  /** Bytes of all tables and indexes. */
  everything: number;
}

/** The journal is left out of `everything`: its rows live for a moment, so its size does not grow with the turns. */
export async function readStorage(client: Client): Promise<Storage> {
  const { rows } = await client.query<Storage>(
    `SELECT (SELECT sum(turns)::float8 FROM turn_blocks) AS turns, pg_table_size('turn_blocks')::float8 AS table,
       pg_indexes_size('turn_blocks')::float8 AS indexes, sum(pg_total_relation_size(c.oid))::float8 AS everything
     FROM pg_class c WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace AND c.relname <> 'journal'`,
  );
  return rows[0]!;
}

/** Creates projects and a key for each, which may send events and run the doctor. */
export async function createProjects(client: Client, count: number): Promise<string[]> {
  const { rows } = await client.query<{ id: number }>(
    "INSERT INTO projects (name, created_at) SELECT 'bench ' || n, now() FROM generate_series(1, $1::int4) n RETURNING id",
    [count],
  );
  const secrets: string[] = [];
  for (const { id } of rows) {
    const { secret, prefix, hash } = makeKey();
    await client.query(
      `INSERT INTO api_keys (project_id, id, name, prefix, hash, scopes, created_at)
       VALUES ($1, $2, 'benchmark', $3, $4, '{ingest,admin}', now())`,
      [id, randomUUID(), prefix, Buffer.from(hash)],
    );
    secrets.push(secret);
  }
  return secrets;
}

/** @throws if a check of the doctor fails in the project of this key */
export async function examineProject(server: BenchServer, key: string): Promise<void> {
  const failed = await createClient(server.url, key).failedChecks();
  if (failed.length > 0) throw new Error(`doctor: ${failed.join("; ")}`);
}
