import type { Series, SeriesMetric, SeriesQuery } from "@plimsoll/protocol/api";
import type { FreshReader } from "../lines/reader.ts";
import { iso, type Span, spanOf } from "../times.ts";
import { stepFor } from "./buckets.ts";
import { type Ranking, rankNames, readPoints, sourceOf, storedStep } from "./series-rows.ts";

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
  estimated_cost_usd: "usd",
  boundaries: "count",
  reclaimed_tokens: "tokens",
  crossings: "count",
  cache_rebuilds: "count",
  cache_rebuilt_tokens: "tokens",
};

/** A metric over time. Gauges leave silent buckets out; counts say zero. */
export async function readSeries(reader: FreshReader, query: SeriesQuery): Promise<Series> {
  const span = spanOf(query);
  const step = storedStep(query, stepFor(span, query.step, query.group_by === undefined ? 1 : query.top + 1));
  const source = sourceOf(reader, query, span, step);
  const ranking = query.group_by === undefined ? undefined : await rankNames(reader, source, query.top);
  const rows = await readPoints(reader, source, ranking?.top, step);
  const unit = UNITS[query.metric];
  const gauge = unit === "fraction" || query.metric === "context_tokens_peak";
  const pointsOf = (group: string | null): Series["groups"][number]["points"] => {
    const own = rows.filter((row) => row.group === group);
    if (gauge) {
      return own.map(({ at, value, within }) => ({
        at: iso(at),
        value,
        ...(within !== undefined && (value ?? 0) > 1 && { within }),
      }));
    }
    const values = new Map(own.map(({ at, value }) => [at.getTime(), value]));
    return allBuckets(span, step).map((at) => ({ at: iso(at), value: values.get(at) ?? 0 }));
  };
  return {
    metric: query.metric,
    unit,
    range: { from: iso(span.from), to: iso(span.to) },
    step,
    groups: groupsOf(ranking).map(({ group, other }) => ({ group, other, points: pointsOf(group) })),
  };
}

/** The named groups, and one of all other names if there are any. A series without events has one group, too. */
function groupsOf(ranking: Ranking | undefined): Pick<Series["groups"][number], "group" | "other">[] {
  const { top = [], other = null } = ranking ?? {};
  const named = top.map((group) => ({ group, other: null }));
  return other !== null || named.length === 0 ? [...named, { group: null, other }] : named;
}

function allBuckets(span: Span, step: number): number[] {
  const width = step * 1_000;
  const buckets: number[] = [];
  for (let at = Math.floor(span.from / width) * width; at < span.to; at += width) buckets.push(at);
  return buckets;
}
