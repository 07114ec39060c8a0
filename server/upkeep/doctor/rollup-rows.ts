import { Prisma } from "../../db/client.ts";
import type { Sql } from "../../db/sql.ts";
import { ALL, INSIGHT_GRAINS } from "../../db/tables/buckets.ts";
import { packedMinutes, ROLLUP_COLUMNS } from "../../db/tables/packed-minutes.ts";
import { sumBins } from "../../read/bins.ts";
import { type ComparedRow, differingColumns } from "./differing-columns.ts";

/** What a rollup row says of its turns. Shares are four-byte floats. */
export interface TurnSums {
  turns: number;
  missing: number;
  fresh: number;
  cacheRead: number;
  cacheWrite: number;
  output: number;
  costMicros: number;
  estimatedCostMicros: number;
  unpricedTurns: number;
  peakTokens: number | undefined;
  peakUtilization: number | undefined;
  bins: number[];
}

export interface BoundarySums {
  count: number;
  reclaimed: number;
}

export interface InsightSums {
  count: number;
  tokens: number;
}

/** Rows by bucket, harness and model, by bucket, harness and boundary type, or by bucket, harness, model and what is counted. */
export type RowsByPlace<Sums> = Map<string, Sums>;

/** The rollup rows of some buckets. `stale` has the places whose peak may be too high. */
export interface StoredRollups {
  turns: RowsByPlace<TurnSums>;
  stale: Set<string>;
  boundaries: RowsByPlace<BoundarySums>;
  insights: RowsByPlace<InsightSums>;
}

interface TurnSumsRow extends Omit<TurnSums, "bins" | "peakTokens" | "peakUtilization"> {
  bucket: number;
  harness: string;
  model: string;
  peakTokens: number | null;
  peakUtilization: number | null;
  bins: string;
  stale: boolean;
}

interface BoundarySumsRow extends BoundarySums {
  bucket: number;
  harness: string;
  type: string;
}

const SPAN = "r.bucket >= to_timestamp($3::float8 / 1000) AND r.bucket < to_timestamp($4::float8 / 1000)";
/** $2 is the grain to read, $6 the width in minutes of the buckets to sum into. */
const BUCKET =
  "(extract(epoch FROM date_bin($6::float8 * interval '1 minute', r.bucket, 'epoch')) * 1000)::float8";
const PACKED = packedMinutes({
  project: Prisma.raw("$1"),
  names: Prisma.raw("p.harness = ANY($5::text[]) AND $2::int2 = 1"),
  from: Prisma.raw("to_timestamp($3::float8 / 1000)"),
  to: Prisma.raw("to_timestamp($4::float8 / 1000)"),
}).text;
const TURN_SUMS = `
SELECT ${BUCKET} AS bucket, r.harness, r.model, sum(r.turns)::float8 AS turns, sum(r.missing)::float8 AS missing,
  sum(r.fresh)::float8 AS fresh, sum(r.cache_read)::float8 AS "cacheRead", sum(r.cache_write)::float8 AS "cacheWrite",
  sum(r.output)::float8 AS output, sum(r.cost_micros)::float8 AS "costMicros",
  sum(r.estimated_cost_micros)::float8 AS "estimatedCostMicros", sum(r.unpriced_turns)::float8 AS "unpricedTurns", max(r.peak_tokens) AS "peakTokens",
  max(r.peak_utilization) AS "peakUtilization", string_agg(r.bins::text, ' ') AS bins, bool_or(r.stale) AS stale
FROM (SELECT ${ROLLUP_COLUMNS.text} FROM rollups r
    WHERE r.project_id = $1 AND r.grain = $2::int2 AND r.harness = ANY($5::text[]) AND ${SPAN}
  UNION ALL ${PACKED}) r GROUP BY 1, 2, 3`;
const BOUNDARY_SUMS = `
SELECT ${BUCKET} AS bucket, r.harness, r.type, sum(r.count)::float8 AS count, sum(r.reclaimed)::float8 AS reclaimed
FROM boundary_rollups r
WHERE r.project_id = $1 AND r.grain = $2::int2 AND r.harness = ANY($5::text[]) AND ${SPAN} GROUP BY 1, 2, 3`;
const INSIGHT_SUMS = `
SELECT ${BUCKET.replace("$6", "$5")} AS bucket, r.harness, r.model, r.what, sum(r.count)::float8 AS count,
  sum(r.tokens)::float8 AS tokens
FROM insight_rollups r WHERE r.project_id = $1 AND r.grain = $2::int2 AND ${SPAN} GROUP BY 1, 2, 3, 4`;
const HARNESSES = `
SELECT DISTINCT n.harness FROM rollup_names n WHERE n.project_id = $1
  AND n.day > to_timestamp($2::float8 / 1000) - interval '1 day' AND n.day < to_timestamp($3::float8 / 1000)`;
const BUCKETS = `
SELECT DISTINCT (extract(epoch FROM b.bucket) * 1000)::float8 AS bucket FROM (
  SELECT r.bucket FROM rollups r WHERE r.project_id = $1 AND r.grain = $2::int2 AND r.harness = '${ALL}'
  UNION ALL
  SELECT r.bucket FROM boundary_rollups r WHERE r.project_id = $1 AND r.grain = $2::int2 AND r.harness = '${ALL}') b`;

/** Harnesses of one statement: the index has the harness before the time. */
const HARNESSES_AT_ONCE = 200;

/** The buckets of a grain in which anything happened. Epoch ms. */
export async function readBuckets(
  sql: Pick<Sql, "query">,
  projectId: number,
  grain: number,
): Promise<number[]> {
  return (await sql.query<{ bucket: number }>(BUCKETS, projectId, grain)).map(({ bucket }) => bucket);
}

/** Reads the rows of one grain in a span of time (epoch ms), summed into buckets of `width` minutes. */
export async function readRollups(
  sql: Pick<Sql, "query">,
  projectId: number,
  { grain, from, to, width }: { grain: number; from: number; to: number; width: number },
): Promise<StoredRollups> {
  const rows: StoredRollups = {
    turns: new Map(),
    stale: new Set(),
    boundaries: new Map(),
    insights: await readInsights(sql, projectId, {
      grain: Math.max(grain, INSIGHT_GRAINS[0]),
      from,
      to,
      width,
    }),
  };
  const harnesses = (await sql.query<{ harness: string }>(HARNESSES, projectId, from, to)).map(
    ({ harness }) => harness,
  );
  harnesses.push(ALL);
  for (let start = 0; start < harnesses.length; start += HARNESSES_AT_ONCE) {
    const some = harnesses.slice(start, start + HARNESSES_AT_ONCE);
    const values = [projectId, grain, from, to, some, width];
    for (const row of await sql.query<TurnSumsRow>(TURN_SUMS, ...values)) {
      const { bucket, harness, model, bins, stale, peakTokens, peakUtilization, ...sums } = row;
      const place = placeOf(bucket, harness, model);
      if (stale) rows.stale.add(place);
      rows.turns.set(place, {
        ...sums,
        peakTokens: peakTokens ?? undefined,
        peakUtilization: peakUtilization ?? undefined,
        bins: trimmed(sumBins(bins)),
      });
    }
    for (const { bucket, harness, type, ...sums } of await sql.query<BoundarySumsRow>(
      BOUNDARY_SUMS,
      ...values,
    )) {
      rows.boundaries.set(placeOf(bucket, harness, type), sums);
    }
  }
  return rows;
}

interface InsightSumsRow extends InsightSums {
  bucket: number;
  harness: string;
  model: string;
  what: string;
}

async function readInsights(
  sql: Pick<Sql, "query">,
  projectId: number,
  { grain, from, to, width }: { grain: number; from: number; to: number; width: number },
): Promise<RowsByPlace<InsightSums>> {
  const minutes = Math.max(width, INSIGHT_GRAINS[0]);
  const rows = await sql.query<InsightSumsRow>(INSIGHT_SUMS, projectId, grain, from, to, minutes);
  return new Map(
    rows.map(({ bucket, harness, model, what, ...sums }) => [placeOf(bucket, harness, model, what), sums]),
  );
}

/** No name may contain NUL, so the joined text is unambiguous. `names` are a model, a boundary type or what is counted. */
export function placeOf(bucket: number, harness: string, ...names: string[]): string {
  return [bucket, harness, ...names].join("\u0000");
}

export const NO_TURNS: TurnSums = {
  turns: 0,
  missing: 0,
  fresh: 0,
  cacheRead: 0,
  cacheWrite: 0,
  output: 0,
  costMicros: 0,
  estimatedCostMicros: 0,
  unpricedTurns: 0,
  peakTokens: undefined,
  peakUtilization: undefined,
  bins: [],
};
export const NO_BOUNDARIES: BoundarySums = { count: 0, reclaimed: 0 };
export const NO_INSIGHTS: InsightSums = { count: 0, tokens: 0 };

/** The columns in which stored rollups differ from the expected ones. A row of zeros may be absent. */
export function rollupDifferences(stored: StoredRollups, expected: Omit<StoredRollups, "stale">): string[] {
  const found = new Set<string>();
  for (const place of places(stored.turns, expected.turns)) {
    const { peakTokens, peakUtilization, ...sums } = expected.turns.get(place) ?? NO_TURNS;
    const row = stored.turns.get(place) ?? NO_TURNS;
    for (const column of differingColumns("rollups", { ...row }, sums as ComparedRow)) found.add(column);
    const peaks = { peakTokens, peakUtilization };
    for (const column of peakDifferences(row, peaks, stored.stale.has(place))) found.add(column);
  }
  for (const place of places(stored.boundaries, expected.boundaries)) {
    const sums = expected.boundaries.get(place) ?? NO_BOUNDARIES;
    const row = stored.boundaries.get(place) ?? NO_BOUNDARIES;
    for (const column of differingColumns("boundary_rollups", { ...row }, { ...sums })) found.add(column);
  }
  for (const place of places(stored.insights, expected.insights)) {
    const sums = expected.insights.get(place) ?? NO_INSIGHTS;
    const row = stored.insights.get(place) ?? NO_INSIGHTS;
    for (const column of differingColumns("insight_rollups", { ...row }, { ...sums })) found.add(column);
  }
  return [...found].sort();
}

type TurnPeaks = Pick<TurnSums, "peakTokens" | "peakUtilization">;

/** A stale peak may be too high until the projector reads it again, never too low. */
function peakDifferences(stored: TurnPeaks, expected: TurnPeaks, stale: boolean): string[] {
  if (!stale) return differingColumns("rollups", { ...stored }, { ...expected });
  return (["peakTokens", "peakUtilization"] as const).flatMap((field) =>
    Math.fround(stored[field] ?? 0) < Math.fround(expected[field] ?? 0)
      ? differingColumns("rollups", stored, { [field]: expected[field] })
      : [],
  );
}

function places(...rows: ReadonlyMap<string, unknown>[]): Set<string> {
  return new Set(rows.flatMap((one) => [...one.keys()]));
}

/** Trailing zeros mean nothing. */
function trimmed(bins: number[]): number[] {
  while (bins.at(-1) === 0) bins.pop();
  return bins;
}
