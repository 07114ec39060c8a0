import { binOf, hourWrite, larger, normaliseUsage, utilizationOf } from "@plimsoll/fold";
import { BOUNDARY_TYPES } from "@plimsoll/protocol/events";
import type { Sql } from "../../db/sql.ts";
import { ALL, bucketOf, slotOf } from "../../db/tables/buckets.ts";
import { unpackRebuild } from "../../db/tables/codes.ts";
import { readNamesOfDays } from "../../db/tables/read-rollup-names.ts";
import {
  type ActiveAgent,
  activeAgents,
  readTurnsBetween,
  type TimeSpan,
} from "../../db/tables/read-turns.ts";
import { dayOf, NAMES_PER_DAY } from "../../db/tables/rollup-names.ts";
import { rebuildCounts } from "../../db/tables/rollups.ts";
import { levelOf, sentUsage, type TurnRow } from "../../db/tables/turns.ts";
import { HOUR_MS } from "../../times.ts";
import type { Check } from "./check.ts";
import {
  type BoundarySums,
  type InsightSums,
  NO_BOUNDARIES,
  NO_INSIGHTS,
  NO_TURNS,
  placeOf,
  type RowsByPlace,
  readBuckets,
  readRollups,
  rollupDifferences,
  type TurnSums,
} from "./rollup-rows.ts";
import { nextBucket } from "./walk.ts";

/** Sessions whose agents one statement looks up. A step that ran out of time is tried again with fewer. */
const SESSIONS_AT_ONCE = { least: 20, most: 500 };

const SESSIONS = `
SELECT s.id FROM sessions s WHERE s.project_id = $1 AND s.last_slot >= $2::int4 AND s.first_slot <= $3::int4
  AND s.id > $4::uuid ORDER BY s.id LIMIT $5`;

const time = (parameter: string) => `to_timestamp(${parameter}::float8 / 1000)`;
const minute = (column: string) =>
  `(extract(epoch FROM date_bin('1 minute', ${column}, 'epoch')) * 1000)::float8`;

const AGENTS = activeAgents("s.id = ANY($2::uuid[])");
const MODELS = "SELECT m.id, m.name FROM models m WHERE m.project_id = $1";

const BOUNDARIES = `
SELECT ${minute("b.at")} AS bucket, s.harness, b.type, count(*)::float8 AS count,
  sum(GREATEST(0, COALESCE(b.tokens_before - b.tokens_after, 0)))::float8 AS reclaimed
FROM sessions s
JOIN agents a ON a.project_id = $1 AND a.session_id = s.id AND a.last_at >= ${time("$3")} AND a.first_at < ${time("$4")}
JOIN boundaries b ON b.project_id = $1 AND b.agent_id = a.id
WHERE s.project_id = $1 AND s.id = ANY($2::uuid[]) AND b.type = ANY('{${BOUNDARY_TYPES.join(",")}}'::text[])
  AND b.at >= ${time("$3")} AND b.at < ${time("$4")}
GROUP BY 1, 2, 3`;

interface BoundariesRow extends BoundarySums {
  bucket: number;
  harness: string;
  type: string;
}

/** At the prices of the time at which the turns were counted. */
const PRICED: ReadonlySet<string> = new Set(["rollups.estimated_cost_micros", "rollups.unpriced_turns"]);

const HORIZON = `
SELECT COALESCE(extract(epoch FROM o.horizon) * 1000, '-Infinity')::float8 AS at FROM projects o WHERE o.id = $1`;

/**
 * Compares the minutes of an hour with the turns and boundaries of every session that was active then, counted under the names
 * of their day.
 */
export const hoursCheck: Check = {
  name: "charts match the turns and boundaries",
  units: { plural: "hours", done: "summed again" },
  weight: 3,
  size: SESSIONS_AT_ONCE.most,
  maxSize: SESSIONS_AT_ONCE.most,
  step({ connection, deadline, projectId }, position, size) {
    return connection.atOneMoment(deadline, async (sql) => {
      const [horizon] = await sql.query<{ at: number }>(HORIZON, projectId);
      // Rollups outlive the turns that retention removed.
      const hours = (await readBuckets(sql, projectId, 60)).filter((hour) => hour >= (horizon?.at ?? 0));
      const current = nextBucket(position, hours);
      if (current === undefined) return { examined: 0, faults: [], next: undefined, of: hours.length };
      const from = current.bucket;
      const to = from + HOUR_MS;
      const stored = await readRollups(sql, projectId, { grain: 1, from, to, width: 1 });
      const atOnce = Math.max(SESSIONS_AT_ONCE.least, size);
      const differences = await readSources(sql, projectId, { from, to }, atOnce).then(
        (expected) => [
          ...rollupDifferences(stored, expected).filter((column) => !PRICED.has(column)),
          ...(expected.names > NAMES_PER_DAY ? ["rollup_names.day"] : []),
        ],
        unreadable,
      );
      const faults =
        differences.length === 0 ? [] : [`${new Date(from).toISOString()} (${differences.join(", ")})`];
      const more = nextBucket(current.position, hours);
      return { examined: 1, faults, next: more && current.position, of: hours.length };
    });
  },
};

/** A block that cannot be unpacked is a fault of its hour. */
function unreadable(error: unknown): string[] {
  if (error instanceof RangeError) return ["turn_blocks.data"];
  throw error;
}

async function readSources(
  sql: Pick<Sql, "query">,
  projectId: number,
  { from, to }: TimeSpan,
  atOnce: number,
) {
  const turns: RowsByPlace<TurnSums> = new Map();
  const boundaries: RowsByPlace<BoundarySums> = new Map();
  const insights: RowsByPlace<InsightSums> = new Map();
  const models = await sql.query<{ id: number; name: string }>(MODELS, projectId);
  const modelNames = new Map(models.map(({ id, name }) => [id, name]));
  // An hour lies in one day.
  const day = dayOf(from);
  const names = (await readNamesOfDays(sql, projectId, [day])).get(day)!;
  let after = "00000000-0000-0000-0000-000000000000";
  for (;;) {
    const slots = [slotOf(from), slotOf(to - 1)];
    const ids = (await sql.query<{ id: string }>(SESSIONS, projectId, ...slots, after, atOnce)).map(
      ({ id }) => id,
    );
    if (ids.length > 0) {
      const agents = await sql.query<ActiveAgent>(AGENTS, projectId, ids, from, to);
      const harnesses = new Map(agents.map(({ number, harness }) => [number, harness]));
      for await (const rows of readTurnsBetween(sql, projectId, agents, { from, to })) {
        for (const row of rows) {
          const bucket = bucketOf(row.at, 1);
          const [harness, model] = names.placeOf(
            harnesses.get(row.agent)!,
            modelNames.get(row.modelId) ?? "?",
          );
          addTurn(sumsAt(turns, placeOf(bucket, harness, model)), row);
          addTurn(sumsAt(turns, placeOf(bucket, ALL, ALL)), row);
          if (row.rebuild === undefined) continue;
          const rebuild = unpackRebuild(row.rebuild);
          const hour = hourWrite(sentUsage(row)) ?? 0;
          for (const { what, ...one } of rebuildCounts({ rebuild, prompt: row.contextTokens ?? 0, hour })) {
            const place = placeOf(from, harness, model, what);
            const { count, tokens } = insights.get(place) ?? NO_INSIGHTS;
            insights.set(place, { count: count + one.count, tokens: tokens + one.tokens });
          }
        }
      }
      for (const row of await sql.query<BoundariesRow>(BOUNDARIES, projectId, ids, from, to)) {
        addBoundaries(boundaries, placeOf(row.bucket, names.harnessOf(row.harness), row.type), row);
        addBoundaries(boundaries, placeOf(row.bucket, ALL, row.type), row);
      }
    }
    if (ids.length < atOnce) return { turns, boundaries, insights, names: names.limited };
    after = ids.at(-1)!;
  }
}

function sumsAt(rows: RowsByPlace<TurnSums>, place: string): TurnSums {
  let sums = rows.get(place);
  if (sums === undefined) {
    sums = { ...NO_TURNS, bins: [] };
    rows.set(place, sums);
  }
  return sums;
}

function addTurn(sums: TurnSums, row: TurnRow): void {
  const { fresh = 0 } = normaliseUsage(sentUsage(row));
  const level = levelOf(row);
  const share = utilizationOf(level, row.windowTokens);
  sums.turns += 1;
  if (row.contextTokens === undefined) sums.missing += 1;
  sums.fresh += fresh;
  sums.cacheRead += row.cacheRead ?? 0;
  sums.cacheWrite += row.cacheWrite ?? 0;
  sums.output += row.outputTokens ?? 0;
  sums.costMicros += row.costMicros ?? 0;
  sums.peakTokens = larger(sums.peakTokens, level);
  sums.peakUtilization = larger(sums.peakUtilization, share);
  if (share === undefined) return;
  const bin = binOf(share);
  while (sums.bins.length <= bin) sums.bins.push(0);
  sums.bins[bin]! += 1;
}

function addBoundaries(rows: RowsByPlace<BoundarySums>, place: string, row: BoundariesRow): void {
  const sums = rows.get(place) ?? NO_BOUNDARIES;
  rows.set(place, { count: sums.count + row.count, reclaimed: sums.reclaimed + row.reclaimed });
}
