import type { Sql } from "../../db/sql.ts";
import { ALL, SLOT_MS } from "../../db/tables/buckets.ts";
import { QUOTA_SHOWN_AFTER_RESET } from "../../db/tables/quota-percents.ts";
import { addRemovedCounts } from "../../db/tables/removed-counts.ts";
import { DAY_MS } from "../../times.ts";
import type { HeldProject } from "./held-project.ts";
import { removeExpiredSessions } from "./remove-sessions.ts";
import { rollupCut, sessionCut } from "./retention-cut.ts";

const SETTINGS = `
SELECT p.session_days AS "sessionDays", p.rollup_days AS "rollupDays" FROM projects p WHERE p.id = $1`;
const SET_HORIZON = `
UPDATE projects SET horizon = GREATEST(horizon, to_timestamp($2::float8 / 1000)) WHERE id = $1`;

interface Settings {
  sessionDays: number | null;
  rollupDays: number | null;
}

/**
 * Removes some of what the project's retention no longer keeps. Returns the ids of the sessions that changed; undefined if
 * nothing is left to remove.
 */
export async function applyRetention(project: HeldProject): Promise<readonly string[] | undefined> {
  const { projectId } = project;
  const [settings] = await project.query<Settings>(SETTINGS, projectId);
  const now = project.now();
  if (settings === undefined) return undefined;
  await removeQuotas(project, now - QUOTA_SHOWN_AFTER_RESET);
  if (settings.sessionDays === null) return undefined;
  const cut = sessionCut(now, settings.sessionDays);
  const sessions = await removeExpiredSessions(project, cut / SLOT_MS, (sql) =>
    sql.send(SET_HORIZON, projectId, cut),
  );
  if (sessions !== undefined || settings.rollupDays === null) return sessions;
  return (await removeRollups(project, settings.rollupDays, now)) ? [] : undefined;
}

const FIRST_SESSION = `
SELECT (extract(epoch FROM min(s.first_at)) * 1000)::float8 AS at FROM sessions s WHERE s.project_id = $1`;
const OLDEST = `
SELECT (extract(epoch FROM LEAST(
  (SELECT min(r.bucket) FROM rollups r WHERE r.project_id = $1 AND r.grain = 360 AND r.harness = '${ALL}'),
  (SELECT min(b.bucket) FROM boundary_rollups b WHERE b.project_id = $1 AND b.grain = 360 AND b.harness = '${ALL}')
)) * 1000)::float8 AS at`;

const IN_BUCKET = `project_id = $1 AND bucket >= to_timestamp($2::float8 / 1000)
  AND bucket < to_timestamp($2::float8 / 1000) + interval '6 hours'`;
/** By harness, because the key has the harness before the time. */
const OF_DAY = `(
  SELECT n.harness FROM rollup_names n WHERE n.project_id = $1
    AND n.day = date_trunc('day', to_timestamp($2::float8 / 1000), 'UTC') UNION SELECT '${ALL}')`;
const COUNT_TURNS = `
SELECT COALESCE(sum(turns), 0)::float8 AS turns FROM rollups
WHERE ${IN_BUCKET} AND grain = 360 AND harness = '${ALL}'`;
const COUNT_BOUNDARIES = `
SELECT type, sum(count)::float8 AS count, sum(reclaimed)::float8 AS reclaimed FROM boundary_rollups
WHERE ${IN_BUCKET} AND grain = 360 AND harness = '${ALL}' GROUP BY type`;
const REMOVE_BUCKET = ["rollups", "boundary_rollups"].map(
  (table) =>
    `DELETE FROM ${table} WHERE ${IN_BUCKET} AND grain = ANY('{1,15,60,360}'::int2[]) AND harness IN ${OF_DAY}`,
);
const REMOVE_PACKED = `DELETE FROM packed_minutes WHERE ${IN_BUCKET} AND harness IN ${OF_DAY}`;
const REMOVE_INSIGHTS = `DELETE FROM insight_rollups WHERE ${IN_BUCKET} AND grain = ANY('{60,360}'::int2[])`;
const REMOVE_NAMES = `
DELETE FROM rollup_names n WHERE n.project_id = $1 AND n.day = date_trunc('day', to_timestamp($2::float8 / 1000), 'UTC')
  AND NOT EXISTS (SELECT 1 FROM rollups r WHERE r.project_id = $1 AND r.grain = 360 AND r.harness = '${ALL}'
    AND r.bucket >= n.day AND r.bucket < n.day + interval '1 day')
  AND NOT EXISTS (SELECT 1 FROM boundary_rollups b WHERE b.project_id = $1 AND b.grain = 360 AND b.harness = '${ALL}'
    AND b.bucket >= n.day AND b.bucket < n.day + interval '1 day')`;

const EXPIRED_QUOTAS = `
SELECT 1 FROM quota_percents q WHERE q.project_id = $1 AND q.resets_at <= to_timestamp($2::float8 / 1000) LIMIT 1`;
const REMOVE_QUOTAS = `
DELETE FROM quota_percents WHERE project_id = $1 AND resets_at <= to_timestamp($2::float8 / 1000)`;

/** Quotas that were reset before a time (epoch ms) and not read since: they make room for others. A project has few. */
async function removeQuotas(project: HeldProject, cut: number): Promise<void> {
  const { projectId } = project;
  if ((await project.query(EXPIRED_QUOTAS, projectId, cut)).length === 0) return;
  await project.transaction(async (sql) => sql.send(REMOVE_QUOTAS, projectId, cut));
  // The memory holds the limits that have rows.
  project.forget();
}

/** Removes the oldest six hours of rollups if they are too old. Returns whether it did. */
async function removeRollups(project: HeldProject, days: number, now: number): Promise<boolean> {
  const { projectId } = project;
  const oldest = await timeOf(project, OLDEST, projectId);
  const limit = now - days * DAY_MS;
  if (oldest === undefined || oldest >= limit) return false;
  const cut = rollupCut(now, days, await timeOf(project, FIRST_SESSION, projectId));
  if (oldest >= cut) return false;
  await project.transaction(async (sql) => {
    const [turns] = await sql.query<{ turns: number }>(COUNT_TURNS, projectId, oldest);
    const boundaries = await sql.query<{ type: string; count: number; reclaimed: number }>(
      COUNT_BOUNDARIES,
      projectId,
      oldest,
    );
    const counts = {
      turns: turns?.turns ?? 0,
      reclaimed: boundaries.reduce((sum, { reclaimed }) => sum + reclaimed, 0),
      ...Object.fromEntries(boundaries.map(({ type, count }) => [type, count])),
    };
    const counted = addRemovedCounts(projectId, "rollups", counts, -1);
    if (counted !== undefined) sql.send(counted.text, ...counted.values);
    for (const text of [...REMOVE_BUCKET, REMOVE_PACKED, REMOVE_INSIGHTS, REMOVE_NAMES])
      sql.send(text, projectId, oldest);
  });
  // The memory holds the names of the day.
  project.forget();
  return true;
}

async function timeOf(sql: Pick<Sql, "query">, text: string, projectId: number): Promise<number | undefined> {
  const [row] = await sql.query<{ at: number | null }>(text, projectId);
  return row?.at ?? undefined;
}
