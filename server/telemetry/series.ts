import type { Series, SeriesMetric, SeriesQuery } from "@plimsoll/protocol";
import { percentile } from "@plimsoll/protocol";
import { Prisma } from "../db/client.ts";
import { PlimsollError } from "../errors.ts";
import { ALL } from "../store/buckets.ts";
import { sumBins } from "./bins.ts";
import { grainFor, stepFor } from "./buckets.ts";
import { type FreshReader, iso, type Reader, type Span, spanOf } from "./reader.ts";

const UNITS: Record<SeriesMetric, Series["unit"]> = {
  utilization_peak: "fraction",
  utilization_p50: "fraction",
  utilization_p95: "fraction",
  context_tokens_peak: "tokens",
  turns: "count",
  input_tokens: "tokens",
  cache_read_tokens: "tokens",
  output_tokens: "tokens",
  cost_usd: "usd",
  boundaries: "count",
  reclaimed_tokens: "tokens",
  crossings: "count",
};

/** One value a bucket from the turn rollups. Input is the whole prompt side, cached tokens included. */
const VALUE: Partial<Record<SeriesMetric, Prisma.Sql>> = {
  utilization_peak: Prisma.sql`max(peak_utilization)::float8`,
  context_tokens_peak: Prisma.sql`max(peak_tokens)::float8`,
  turns: Prisma.sql`sum(turns)::float8`,
  input_tokens: Prisma.sql`sum(fresh + cache_read + cache_write)::float8`,
  cache_read_tokens: Prisma.sql`sum(cache_read)::float8`,
  output_tokens: Prisma.sql`sum(output)::float8`,
  cost_usd: Prisma.sql`sum(cost_micros)::float8 / 1e6`,
};
const PERCENTILES: Partial<Record<SeriesMetric, number>> = { utilization_p50: 0.5, utilization_p95: 0.95 };

interface Row {
  at: Date;
  group: string | null;
  value: number | null;
}

/** A metric over time. Gauges leave silent buckets out; counts say zero. */
export async function readSeries(reader: FreshReader, query: SeriesQuery): Promise<Series> {
  const span = spanOf(query);
  const step = stepFor(span, query.step);
  const rows = await readRows(reader, query, span, step);
  const unit = UNITS[query.metric];
  const groups = new Map<string | null, Map<number, number | null>>();
  if (rows.length === 0 || query.group_by === undefined) groups.set(null, new Map());
  for (const row of rows) {
    let points = groups.get(row.group);
    if (points === undefined) {
      points = new Map();
      groups.set(row.group, points);
    }
    points.set(row.at.getTime(), row.value);
  }
  if (query.group_by !== undefined && groups.size > 1) groups.delete(null);
  const gauge = unit === "fraction" || query.metric === "context_tokens_peak";
  return {
    metric: query.metric,
    unit,
    range: { from: iso(span.from), to: iso(span.to) },
    step,
    groups: [...groups].map(([group, points]) => ({
      group,
      points: gauge
        ? [...points].map(([at, value]) => ({ at: iso(at), value }))
        : allBuckets(span, step).map((at) => ({ at: iso(at), value: points.get(at) ?? 0 })),
    })),
  };
}

function allBuckets(span: Span, step: number): number[] {
  const width = step * 1_000;
  const buckets: number[] = [];
  for (let at = Math.floor(span.from / width) * width; at < span.to; at += width) buckets.push(at);
  return buckets;
}

function readRows(reader: Reader, query: SeriesQuery, span: Span, step: number): Promise<Row[]> {
  switch (query.metric) {
    case "boundaries":
    case "reclaimed_tokens":
      return readBoundaries(reader, query, span, step);
    case "crossings":
      return readCrossings(reader, query, span, step);
    case "utilization_p50":
    case "utilization_p95":
      return readPercentiles(reader, query, span, step);
    default:
      return readTurns(reader, query, span, step);
  }
}

/** Steps are counted from the epoch, so that a bucket is the same whichever range it is asked in. */
function binned(column: Prisma.Sql, step: number): Prisma.Sql {
  return Prisma.sql`date_bin(${step} * interval '1 second', ${column}, 'epoch')`;
}

function groupColumn(query: SeriesQuery, allowed: Record<string, Prisma.Sql>): Prisma.Sql {
  if (query.group_by === undefined) return Prisma.sql`NULL::text`;
  const column = allowed[query.group_by];
  if (column === undefined) {
    throw new PlimsollError(
      "bad_request",
      `${query.metric} cannot be grouped by ${query.group_by}; by ${Object.keys(allowed).join(" or ")} it can.`,
    );
  }
  return column;
}

function rollupRange(reader: Reader, query: SeriesQuery, span: Span, step: number): Prisma.Sql {
  const width = step * 1_000;
  const from = new Date(Math.floor(span.from / width) * width);
  // All together are added up already; only who wants them apart, or one harness alone, reads the parts.
  const apart = query.group_by === "harness" || query.group_by === "model";
  const harness =
    apart && query.harness === undefined
      ? Prisma.sql`harness <> ${ALL}`
      : Prisma.sql`harness = ${query.harness ?? ALL}`;
  return Prisma.sql`project_id = ${reader.projectId} AND grain = ${grainFor(step)} AND ${harness}
    AND bucket >= ${from} AND bucket < ${new Date(span.to)}`;
}

const TURN_GROUPS = { harness: Prisma.sql`harness`, model: Prisma.sql`model` };

function readTurns(reader: Reader, query: SeriesQuery, span: Span, step: number): Promise<Row[]> {
  return reader.prisma.$queryRaw<Row[]>`
    SELECT ${binned(Prisma.sql`bucket`, step)} AS at, ${groupColumn(query, TURN_GROUPS)} AS group,
      ${VALUE[query.metric]} AS value
    FROM rollups WHERE ${rollupRange(reader, query, span, step)} AND turns > 0 GROUP BY 1, 2 ORDER BY 1, 2`;
}

async function readPercentiles(reader: Reader, query: SeriesQuery, span: Span, step: number): Promise<Row[]> {
  const share = PERCENTILES[query.metric] ?? 0.5;
  const rows = await reader.prisma.$queryRaw<
    { at: Date; group: string | null; bins: string; peak: number | null }[]
  >`
    SELECT ${binned(Prisma.sql`bucket`, step)} AS at, ${groupColumn(query, TURN_GROUPS)} AS group,
      COALESCE(string_agg(bins::text, ' '), '') AS bins, max(peak_utilization)::float8 AS peak
    FROM rollups WHERE ${rollupRange(reader, query, span, step)} AND turns > 0 GROUP BY 1, 2 ORDER BY 1, 2`;
  return rows.flatMap(({ at, group, bins, peak }) => {
    const value = percentile(sumBins(bins), share, peak ?? undefined);
    return value === undefined ? [] : [{ at, group, value }];
  });
}

function readBoundaries(reader: Reader, query: SeriesQuery, span: Span, step: number): Promise<Row[]> {
  const group = groupColumn(query, { harness: Prisma.sql`harness`, type: Prisma.sql`type` });
  const value =
    query.metric === "boundaries" ? Prisma.sql`sum(count)::float8` : Prisma.sql`sum(reclaimed)::float8`;
  return reader.prisma.$queryRaw<Row[]>`
    SELECT ${binned(Prisma.sql`bucket`, step)} AS at, ${group} AS group, ${value} AS value
    FROM boundary_rollups WHERE ${rollupRange(reader, query, span, step)} AND count > 0 GROUP BY 1, 2 ORDER BY 1, 2`;
}

function readCrossings(reader: Reader, query: SeriesQuery, span: Span, step: number): Promise<Row[]> {
  const group = groupColumn(query, { harness: Prisma.sql`s.harness`, type: Prisma.sql`c.threshold` });
  const harness = query.harness === undefined ? Prisma.empty : Prisma.sql`AND s.harness = ${query.harness}`;
  return reader.prisma.$queryRaw<Row[]>`
    SELECT ${binned(Prisma.sql`c.at`, step)} AS at, ${group} AS group, count(*)::float8 AS value
    FROM crossings c JOIN sessions s ON s.project_id = c.project_id AND s.id = c.session_id
    WHERE c.project_id = ${reader.projectId} AND c.up AND c.at >= ${new Date(span.from)}
      AND c.at < ${new Date(span.to)} ${harness}
    GROUP BY 1, 2 ORDER BY 1, 2`;
}
