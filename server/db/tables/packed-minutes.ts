import { DAY_MS } from "../../times.ts";
import { Prisma } from "../client.ts";
import { ALL, bucketOf } from "./buckets.ts";
import type { RollupRow } from "./rollups.ts";
import type { Statement } from "./table.ts";

/** Minutes are packed so long after them: few events are that late. Milliseconds. */
export const PACKED_AFTER = 2 * DAY_MS;

/** Whether the minute of a time is old enough to be packed. Both in epoch ms. */
export function mayBePacked(at: number, now: number): boolean {
  return bucketOf(at, 60) < bucketOf(now - PACKED_AFTER, 60);
}

/** Counts of a minute, which are zero where their array is empty. */
const COUNTS = [
  "turns",
  "missing",
  "fresh",
  "cache_read",
  "cache_write",
  "output",
  "cost_micros",
  "estimated_cost_micros",
  "unpriced_turns",
];
const PEAKS = ["peak_tokens", "peak_utilization"];
const VALUES = [...COUNTS, ...PEAKS, "bins"];

const PLACE = ["grain", "bucket", "harness", "model"];
const COLUMNS = [...PLACE, ...VALUES, "stale"].join(", ");
/** The columns of `rollups` without the project, in the order of `packedMinutes`. */
export const ROLLUP_COLUMNS = Prisma.raw(COLUMNS);

const UNPACKED = `1::int2 AS grain, p.bucket + v.minute * interval '1 minute' AS bucket, p.harness, p.model,
  ${COUNTS.map((name) => `COALESCE(v.${name}, 0) AS ${name}`).join(", ")},
  ${PEAKS.map((name) => `v.${name}`).join(", ")}, v.bins::int4[] AS bins, false AS stale`;
const MINUTES = `packed_minutes p
  CROSS JOIN LATERAL unnest(p.minutes, ${VALUES.map((name) => `p.${name}`).join(", ")}) AS v(minute, ${VALUES.join(", ")})`;

/** Minutes to read, as SQL. */
interface MinutesRead {
  project: Prisma.Sql;
  /** A condition on `harness` and `model`. It may name outer tables other than m, p, r and v. */
  names: Prisma.Sql;
  /** Inclusive. */
  from: Prisma.Sql;
  /** Exclusive. */
  to: Prisma.Sql;
}

/** A query for the packed minutes of a span, with the columns `ROLLUP_COLUMNS`. */
export function packedMinutes({ project, names, from, to }: MinutesRead): Prisma.Sql {
  return Prisma.sql`SELECT ${ROLLUP_COLUMNS} FROM (
    SELECT ${Prisma.raw(UNPACKED)} FROM ${Prisma.raw(MINUTES)}
    WHERE p.project_id = ${project} AND ${names} AND p.bucket > (${from})::timestamptz - interval '1 hour' AND p.bucket < ${to}) m
  WHERE m.bucket >= ${from} AND m.bucket < ${to}`;
}

/** A query for the minutes of a span, packed or not. */
export function minutesBetween(read: MinutesRead): Prisma.Sql {
  const { project, names, from, to } = read;
  return Prisma.sql`SELECT ${ROLLUP_COLUMNS} FROM rollups r
    WHERE r.project_id = ${project} AND r.grain = 1 AND ${names} AND r.bucket >= ${from} AND r.bucket < ${to}
  UNION ALL ${packedMinutes(read)}`;
}

/** The newest hour with packed minutes, epoch ms. */
export const NEWEST_PACKED = `
SELECT (extract(epoch FROM max(p.bucket)) * 1000)::float8 AS hour FROM packed_minutes p WHERE p.project_id = $1 AND p.harness = '${ALL}'`;

const OF_KEYS = `(SELECT to_timestamp(k.hour / 1000) AS hour, k.harness, k.model
  FROM unnest($2::float8[], $3::text[], $4::text[]) AS k(hour, harness, model)) i
  WHERE p.project_id = $1 AND p.harness = i.harness AND p.bucket = i.hour AND p.model = i.model`;
const UNPACK = `
INSERT INTO rollups (project_id, ${COLUMNS}) SELECT $1, ${UNPACKED} FROM (
  SELECT p.* FROM packed_minutes p, ${OF_KEYS}) p
  CROSS JOIN LATERAL unnest(p.minutes, ${VALUES.map((name) => `p.${name}`).join(", ")}) AS v(minute, ${VALUES.join(", ")})`;
const REMOVE_UNPACKED = `DELETE FROM packed_minutes p USING ${OF_KEYS}`;

/**
 * Makes rows of the packed minutes that rows of rollups change. Send them before the change.
 * @param newest the newest hour with packed minutes, epoch ms
 */
export function unpackMinutes(projectId: number, rows: readonly RollupRow[], newest: number): Statement[] {
  const hours = rows.filter(({ grain, bucket }) => grain === 60 && bucket <= newest);
  if (hours.length === 0) return [];
  const keys = [
    hours.map(({ bucket }) => bucket),
    hours.map(({ harness }) => harness),
    hours.map(({ model }) => model),
  ];
  return [UNPACK, REMOVE_UNPACKED].map((text) => ({ text, values: [projectId, ...keys] }));
}

const HOUR = `r.project_id = $1 AND r.grain = 1 AND r.harness IN (
  SELECT n.harness FROM rollup_names n WHERE n.project_id = $1 AND n.day = date_trunc('day', to_timestamp($2::float8 / 1000), 'UTC')
  UNION SELECT '${ALL}') AND r.bucket >= to_timestamp($2::float8 / 1000) AND r.bucket < to_timestamp($2::float8 / 1000) + interval '1 hour'`;
/** The arrays of a row have the minutes in the same order, because they are gathered from the same rows. */
const PACK = `
INSERT INTO packed_minutes (project_id, harness, bucket, model, minutes, ${VALUES.join(", ")})
SELECT $1, r.harness, to_timestamp($2::float8 / 1000), r.model,
  array_agg(extract(minute FROM r.bucket AT TIME ZONE 'UTC')::int2),
  ${COUNTS.map((name) => `CASE WHEN bool_and(r.${name} = 0) THEN '{}' ELSE array_agg(r.${name}) END`).join(", ")},
  ${PEAKS.map((name) => `array_agg(r.${name})`).join(", ")}, array_agg(r.bins::text)
FROM (SELECT * FROM rollups r WHERE ${HOUR} ORDER BY r.harness, r.model, r.bucket) r GROUP BY r.harness, r.model`;

/** Packs the minutes of an hour (epoch ms), none of which is stale or packed. */
export function packMinutes(projectId: number, hour: number): Statement[] {
  return [PACK, `DELETE FROM rollups r WHERE ${HOUR}`].map((text) => ({ text, values: [projectId, hour] }));
}
