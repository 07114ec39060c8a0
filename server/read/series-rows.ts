import { BIN_COUNT, percentile } from "@plimsoll/fold";
import type { OtherNames, SeriesMetric, SeriesQuery } from "@plimsoll/protocol/api";
import { Prisma } from "../db/client.ts";
import { ALL, INSIGHT_GRAINS } from "../db/tables/buckets.ts";
import { OTHER } from "../db/tables/rollup-names.ts";
import { PlimsollError } from "../errors.ts";
import type { Reader } from "../lines/reader.ts";
import type { Span } from "../times.ts";
import { grainFor, rollupsIn } from "./buckets.ts";
import { PEAK_WITHIN } from "./peak-within.ts";

/** Where the values of a metric come from. */
export interface SeriesSource {
  /** Tables and conditions. */
  rows: Prisma.Sql;
  at: Prisma.Sql;
  /** The name that rows are grouped by. */
  name: Prisma.Sql;
  /** One value of several rows: a number, or the histogram that `share` is read from. */
  value: Prisma.Sql;
  /** Of a percentile: which share of the turns lies below it. */
  share?: number;
  /** Whether the value is a utilization that may exceed 1. */
  mayExceed?: boolean;
}

/** One value of a bucket and a group. */
export interface SeriesPoint {
  at: Date;
  group: string | null;
  value: number | null;
  /** Of a peak above 1: the highest value up to 1. */
  within?: number | null;
}

/** The names with the highest values of a range. */
export interface Ranking {
  top: string[];
  /** Null if no other name has a value. */
  other: OtherNames | null;
}

/** Input is the whole prompt side, cached tokens included. */
const TURN_VALUES: Partial<Record<SeriesMetric, Prisma.Sql>> = {
  utilization_peak: Prisma.sql`max(peak_utilization)::float8`,
  context_tokens_peak: Prisma.sql`max(peak_tokens)::float8`,
  turns: Prisma.sql`sum(turns)::float8`,
  input_tokens: Prisma.sql`sum(fresh + cache_read + cache_write)::float8`,
  cache_read_tokens: Prisma.sql`sum(cache_read)::float8`,
  output_tokens: Prisma.sql`sum(output)::float8`,
  cost_usd: Prisma.sql`sum(cost_micros)::float8 / 1e6`,
  estimated_cost_usd: Prisma.sql`sum(estimated_cost_micros)::float8 / 1e6`,
};
const SHARES: Partial<Record<SeriesMetric, number>> = { utilization_p50: 0.5, utilization_p95: 0.95 };

/** One sum a bin takes a fraction of the time in which PostgreSQL makes a row of each number, and no memory. */
const SUMMED_BINS = Prisma.raw(
  `ARRAY[${Array.from({ length: BIN_COUNT }, (_, bin) => `COALESCE(sum(bins[${bin + 1}]), 0)::int8`).join(", ")}]`,
);

/** Rebuilt caches are counted by the hour. */
const isInsight = ({ metric }: SeriesQuery) =>
  metric === "cache_rebuilds" || metric === "cache_rebuilt_tokens";

/** The shortest step in seconds that is stored of a metric, from the one that fits its range. */
export function storedStep(query: SeriesQuery, step: number): number {
  const [grain] = INSIGHT_GRAINS;
  return isInsight(query) ? Math.ceil(step / (grain * 60)) * grain * 60 : step;
}

/** @throws PlimsollError `bad_request` if the metric has no such groups */
export function sourceOf(reader: Reader, query: SeriesQuery, span: Span, step: number): SeriesSource {
  const at = Prisma.sql`bucket`;
  switch (query.metric) {
    case "boundaries":
    case "reclaimed_tokens":
      return {
        rows: Prisma.sql`boundary_rollups WHERE ${boundaryRange(reader, query, span, step)} AND count > 0`,
        at,
        name: nameColumn(query, { harness: Prisma.sql`harness`, type: Prisma.sql`type` }),
        value:
          query.metric === "boundaries" ? Prisma.sql`sum(count)::float8` : Prisma.sql`sum(reclaimed)::float8`,
      };
    case "crossings":
      return crossingSource(reader, query, span);
    case "cache_rebuilds":
    case "cache_rebuilt_tokens":
      return {
        rows: Prisma.sql`insight_rollups WHERE ${insightRange(reader, query, span, step)}
          AND what LIKE 'rebuild/%' AND tokens > 0`,
        at,
        name: nameColumn(query, {
          harness: Prisma.sql`harness`,
          model: Prisma.sql`model`,
          type: Prisma.sql`split_part(what, '/', 2)`,
        }),
        value:
          query.metric === "cache_rebuilds"
            ? Prisma.sql`sum(count)::float8`
            : Prisma.sql`sum(tokens)::float8`,
      };
    default:
      return {
        rows: Prisma.sql`${turnRows(reader, query, span, step)} WHERE turns > 0`,
        at,
        name: nameColumn(query, { harness: Prisma.sql`harness`, model: Prisma.sql`model` }),
        value: TURN_VALUES[query.metric] ?? SUMMED_BINS,
        share: SHARES[query.metric],
        mayExceed: query.metric === "utilization_peak",
      };
  }
}

function crossingSource({ projectId }: Reader, query: SeriesQuery, span: Span): SeriesSource {
  const harness = query.harness === undefined ? Prisma.empty : Prisma.sql`AND s.harness = ${query.harness}`;
  return {
    rows: Prisma.sql`crossings c JOIN sessions s ON s.project_id = c.project_id AND s.id = c.session_id
      WHERE c.project_id = ${projectId} AND s.deleted_at IS NULL AND c.up AND c.at >= ${new Date(span.from)}
        AND c.at < ${new Date(span.to)} ${harness}`,
    at: Prisma.sql`c.at`,
    name: nameColumn(query, { harness: Prisma.sql`s.harness`, type: Prisma.sql`c.threshold` }),
    value: Prisma.sql`count(*)::float8`,
  };
}

function nameColumn(query: SeriesQuery, allowed: Record<string, Prisma.Sql>): Prisma.Sql {
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

function turnRows(reader: Reader, query: SeriesQuery, span: Span, step: number): Prisma.Sql {
  const piece = { grain: grainFor(step), from: startOf(span, step), to: span.to };
  return rollupsIn(reader, ofHarness(query), [piece]);
}

function boundaryRange({ projectId }: Reader, query: SeriesQuery, span: Span, step: number): Prisma.Sql {
  return Prisma.sql`project_id = ${projectId} AND grain = ${grainFor(step)} AND ${ofHarness(query)}
    AND bucket >= ${new Date(startOf(span, step))} AND bucket < ${new Date(span.to)}`;
}

/** All together are added up already; only who wants them apart, or one harness alone, reads the parts. */
function ofHarness({ group_by, harness }: SeriesQuery): Prisma.Sql {
  const apart = group_by === "harness" || group_by === "model";
  return apart && harness === undefined
    ? Prisma.sql`harness <> ${ALL}`
    : Prisma.sql`harness = ${harness ?? ALL}`;
}

/** The start of the step that a span begins in. Epoch ms. */
function startOf({ from }: Span, step: number): number {
  const width = step * 1_000;
  return Math.floor(from / width) * width;
}

function insightRange(reader: Reader, query: SeriesQuery, span: Span, step: number): Prisma.Sql {
  const from = new Date(startOf(span, step));
  const harness = query.harness === undefined ? Prisma.empty : Prisma.sql`AND harness = ${query.harness}`;
  return Prisma.sql`project_id = ${reader.projectId} AND grain = ${grainFor(step)}
    AND bucket >= ${from} AND bucket < ${new Date(span.to)} ${harness}`;
}

interface RankingRow {
  top: string[];
  names: number;
  over_limit: boolean;
}

/** Ranks names by their value over the whole range; of equal values, the name that sorts first in Unicode comes first. */
export async function rankNames(reader: Reader, source: SeriesSource, top: number): Promise<Ranking> {
  const { rows, name, value, share } = source;
  const rank = share === undefined ? Prisma.sql`value` : binOfShare(share);
  const [ranking] = await reader.prisma.$queryRaw<RankingRow[]>`
    WITH names AS MATERIALIZED (SELECT ${name} AS name, ${value} AS value FROM ${rows} GROUP BY 1)
    SELECT ARRAY(
        SELECT name FROM names WHERE name <> ${OTHER} ORDER BY ${rank} DESC NULLS LAST, name COLLATE "C" LIMIT ${top}
      ) AS top,
      (SELECT count(*) FROM names WHERE name <> ${OTHER})::int4 AS names,
      EXISTS (SELECT 1 FROM names WHERE name = ${OTHER}) AS over_limit`;
  const { top: named, names, over_limit } = ranking!;
  const rest = names - named.length;
  return { top: named, other: rest > 0 || over_limit ? { names: rest, over_limit } : null };
}

/** The bin of a histogram that a share of its turns lies below. */
function binOfShare(share: number): Prisma.Sql {
  return Prisma.sql`(SELECT min(b.bin) FROM (
      SELECT u.bin, u.turns, sum(u.turns) OVER (ORDER BY u.bin) AS below, sum(u.turns) OVER () AS total
      FROM unnest(value) WITH ORDINALITY AS u(turns, bin)) b
    WHERE b.turns > 0 AND b.below >= ${share}::float8 * b.total)`;
}

/**
 * Reads the value of each bucket and group. `top` are the names with a group of their own; undefined for one group. Memory
 * follows the number of points, because PostgreSQL combines the other names.
 */
export async function readPoints(
  reader: Reader,
  { rows, at, name, value, share, mayExceed = false }: SeriesSource,
  top: readonly string[] | undefined,
  step: number,
): Promise<SeriesPoint[]> {
  const group =
    top === undefined ? name : Prisma.sql`CASE WHEN ${name} = ANY(${top}::text[]) THEN ${name} END`;
  // Steps are counted from the epoch, so that a bucket is the same whichever range it is asked in.
  const within = mayExceed ? Prisma.sql`, ${PEAK_WITHIN} AS within` : Prisma.empty;
  const found = await reader.prisma.$queryRaw<(SeriesPoint & { bins: bigint[]; peak: number | null })[]>`
    SELECT date_bin(${step} * interval '1 second', ${at}, 'epoch') AS at, ${group} AS group,
      ${share === undefined ? Prisma.sql`${value} AS value ${within}` : Prisma.sql`${value} AS bins, max(peak_utilization)::float8 AS peak`}
    FROM ${rows} GROUP BY 1, 2 ORDER BY 1, 2`;
  if (share === undefined) return found;
  return found.flatMap(({ at, group, bins, peak }) => {
    const value = percentile(bins.map(Number), share, peak ?? undefined);
    return value === undefined ? [] : [{ at, group, value }];
  });
}
