import { BOUNDARY_TYPES } from "@plimsoll/protocol";
import type { Sql } from "../../db/sql.ts";
import { ALL, slotOf } from "../../store/buckets.ts";
import { IS_LEVEL, TURN_SLOT } from "../../store/turns.ts";
import type { Check } from "./check.ts";
import {
  type BoundarySums,
  NO_BOUNDARIES,
  NO_TURNS,
  placeOf,
  type RowsByPlace,
  readBuckets,
  readRollups,
  rollupDifferences,
  type TurnSums,
} from "./rollup-rows.ts";
import { nextBucket } from "./walk.ts";

const HOUR_MS = 3_600_000;
/** Sessions whose turns one statement reads. A statement that was cancelled is tried again with fewer. */
const SESSIONS_AT_ONCE = { least: 20, most: 500 };

const SESSIONS = `
SELECT s.id FROM sessions s WHERE s.project_id = $1 AND s.last_slot >= $2::int4 AND s.first_slot <= $3::int4
  AND s.id > $4::uuid ORDER BY s.id LIMIT $5`;

const time = (parameter: string) => `to_timestamp(${parameter}::float8 / 1000)`;
const slot = (parameter: string) => TURN_SLOT.replace("t.at", time(parameter));
const minute = (column: string) =>
  `(extract(epoch FROM date_bin('1 minute', ${column}, 'epoch')) * 1000)::float8`;
const CACHED = "(COALESCE(t.cache_read, 0) + COALESCE(t.cache_write, 0))";
const LEVEL = `${IS_LEVEL} AND t.context_tokens IS NOT NULL`;
const SHARE = `CASE WHEN ${LEVEL} AND t.window_tokens > 0 THEN t.context_tokens::float8 / t.window_tokens END`;

/** The widths and the number of bins are those of the protocol's binOf. */
const TURNS = `
SELECT ${minute("t.at")} AS bucket, s.harness, m.name AS model,
  CASE WHEN ${SHARE} IS NOT NULL THEN LEAST(80, floor(${SHARE} / 0.025 + 1e-9)) END::int4 AS bin, count(*)::float8 AS turns,
  count(*) FILTER (WHERE t.context_tokens IS NULL)::float8 AS missing,
  COALESCE(sum(CASE WHEN t.facets & 3 = 2 OR (t.facets & 3 = 0 AND ${CACHED} > t.input_tokens) THEN t.input_tokens
    ELSE GREATEST(0, t.input_tokens - ${CACHED}) END), 0)::float8 AS fresh,
  COALESCE(sum(t.cache_read), 0)::float8 AS "cacheRead", COALESCE(sum(t.cache_write), 0)::float8 AS "cacheWrite",
  COALESCE(sum(t.output_tokens), 0)::float8 AS output, COALESCE(sum(t.cost_micros), 0)::float8 AS "costMicros",
  max(t.context_tokens) FILTER (WHERE ${LEVEL}) AS "peakTokens", max(${SHARE}) AS "peakUtilization"
FROM sessions s
JOIN agents a ON a.project_id = $1 AND a.session_id = s.id AND a.last_at >= ${time("$3")} AND a.first_at < ${time("$4")}
JOIN turns t ON t.project_id = $1 AND t.agent = a.number
LEFT JOIN models m ON m.project_id = $1 AND m.id = t.model_id
WHERE s.project_id = $1 AND s.id = ANY($2::uuid[]) AND ${TURN_SLOT} >= ${slot("$3")} AND ${TURN_SLOT} <= ${slot("$4")}
  AND t.at >= ${time("$3")} AND t.at < ${time("$4")}
GROUP BY 1, 2, 3, 4`;

const BOUNDARIES = `
SELECT ${minute("b.at")} AS bucket, s.harness, b.type, count(*)::float8 AS count,
  sum(GREATEST(0, COALESCE(b.tokens_before - b.tokens_after, 0)))::float8 AS reclaimed
FROM sessions s
JOIN agents a ON a.project_id = $1 AND a.session_id = s.id AND a.last_at >= ${time("$3")} AND a.first_at < ${time("$4")}
JOIN boundaries b ON b.project_id = $1 AND b.agent_id = a.id
WHERE s.project_id = $1 AND s.id = ANY($2::uuid[]) AND b.type = ANY('{${BOUNDARY_TYPES.join(",")}}'::text[])
  AND b.at >= ${time("$3")} AND b.at < ${time("$4")}
GROUP BY 1, 2, 3`;

interface TurnsRow extends Omit<TurnSums, "bins" | "peakTokens" | "peakUtilization"> {
  bucket: number;
  harness: string;
  model: string | null;
  bin: number | null;
  peakTokens: number | null;
  peakUtilization: number | null;
}

interface BoundariesRow extends BoundarySums {
  bucket: number;
  harness: string;
  type: string;
}

/** Compares the minutes of an hour with the turns and boundaries of every session that was active then. */
export const hoursCheck: Check = {
  name: "rollups equal the turns and boundaries",
  units: { plural: "hours", done: "summed again" },
  weight: 3,
  size: SESSIONS_AT_ONCE.most,
  maxSize: SESSIONS_AT_ONCE.most,
  step({ connection, deadline, projectId }, position, size) {
    return connection.atOneMoment(deadline, async (sql) => {
      const hours = await readBuckets(sql, projectId, 60);
      const current = nextBucket(position, hours);
      if (current === undefined) return { examined: 0, faults: [], next: undefined, of: hours.length };
      const from = current.bucket;
      const to = from + HOUR_MS;
      const stored = await readRollups(sql, projectId, { grain: 1, from, to, width: 1 });
      const expected = await readSources(
        sql,
        projectId,
        { from, to },
        Math.max(SESSIONS_AT_ONCE.least, size),
      );
      const differences = rollupDifferences(stored, expected);
      const faults =
        differences.length === 0 ? [] : [`${new Date(from).toISOString()} (${differences.join(", ")})`];
      const more = nextBucket(current.position, hours);
      return { examined: 1, faults, next: more && current.position, of: hours.length };
    });
  },
};

async function readSources(
  sql: Pick<Sql, "query">,
  projectId: number,
  { from, to }: { from: number; to: number },
  atOnce: number,
) {
  const turns: RowsByPlace<TurnSums> = new Map();
  const boundaries: RowsByPlace<BoundarySums> = new Map();
  let after = "00000000-0000-0000-0000-000000000000";
  for (;;) {
    const slots = [slotOf(from), slotOf(to - 1)];
    const ids = (await sql.query<{ id: string }>(SESSIONS, projectId, ...slots, after, atOnce)).map(
      ({ id }) => id,
    );
    if (ids.length > 0) {
      for (const row of await sql.query<TurnsRow>(TURNS, projectId, ids, from, to)) {
        addTurns(turns, placeOf(row.bucket, row.harness, row.model ?? "?"), row);
        addTurns(turns, placeOf(row.bucket, ALL, ALL), row);
      }
      for (const row of await sql.query<BoundariesRow>(BOUNDARIES, projectId, ids, from, to)) {
        addBoundaries(boundaries, placeOf(row.bucket, row.harness, row.type), row);
        addBoundaries(boundaries, placeOf(row.bucket, ALL, row.type), row);
      }
    }
    if (ids.length < atOnce) return { turns, boundaries };
    after = ids.at(-1)!;
  }
}

function addTurns(rows: RowsByPlace<TurnSums>, place: string, row: TurnsRow): void {
  const sums = rows.get(place) ?? { ...NO_TURNS, bins: [] };
  for (const field of SUMMED) sums[field] += row[field];
  sums.peakTokens = higher(sums.peakTokens, row.peakTokens);
  sums.peakUtilization = higher(sums.peakUtilization, row.peakUtilization);
  if (row.bin !== null) {
    while (sums.bins.length <= row.bin) sums.bins.push(0);
    sums.bins[row.bin]! += row.turns;
  }
  rows.set(place, sums);
}

const SUMMED = ["turns", "missing", "fresh", "cacheRead", "cacheWrite", "output", "costMicros"] as const;

function addBoundaries(rows: RowsByPlace<BoundarySums>, place: string, row: BoundariesRow): void {
  const sums = rows.get(place) ?? NO_BOUNDARIES;
  rows.set(place, { count: sums.count + row.count, reclaimed: sums.reclaimed + row.reclaimed });
}

function higher(a: number | undefined, b: number | null): number | undefined {
  return b === null || (a !== undefined && a >= b) ? a : b;
}
