import type { OtherNames, Series } from "@plimsoll/protocol/api";
import type { ThresholdValue } from "@plimsoll/protocol/pure";
import { exact } from "../format.ts";

export interface SeriesRow {
  at: number;
  [name: string]: number | null;
}

/** One row per bucket of the whole range. Empty buckets are null, so that the chart draws a gap. */
export function bucketRows(named: Readonly<Record<string, Series | undefined>>): SeriesRow[] {
  const rows = new Map<number, SeriesRow>();
  const names = Object.keys(named);
  for (const [name, series] of Object.entries(named)) {
    if (series === undefined) continue;
    const step = series.step * 1000;
    const points = series.groups.flatMap((group) => group.points);
    const first = points.length === 0 ? Date.parse(series.range.from) : Date.parse(points[0]!.at);
    const from = Date.parse(series.range.from);
    const start = first - Math.ceil((first - from) / step) * step;
    for (let at = start; at <= Date.parse(series.range.to); at += step) {
      if (!rows.has(at)) rows.set(at, empty(at, names));
    }
    for (const point of points) {
      const at = Date.parse(point.at);
      const row = rows.get(at) ?? empty(at, names);
      row[name] = point.value;
      rows.set(at, row);
    }
  }
  return [...rows.values()].sort((a, b) => a.at - b.at);
}

function empty(at: number, names: readonly string[]): SeriesRow {
  return { at, ...Object.fromEntries(names.map((name) => [name, null])) };
}

/** Times of values without neighbors. A line of one point is invisible, so the chart draws a dot there. */
export function isolatedPoints(rows: readonly SeriesRow[], name: string): Set<number> {
  const has = (index: number) => typeof rows[index]?.[name] === "number";
  return new Set(
    rows.flatMap(({ at }, index) => (has(index) && !has(index - 1) && !has(index + 1) ? [at] : [])),
  );
}

/** The name of all names beyond those that have a group of their own, such as `other (4,312 names)`. */
export function otherName({ names, over_limit }: OtherNames): string {
  if (names === 0) return "other names";
  return `other (${over_limit ? "at least " : ""}${exact(names)} ${names === 1 && !over_limit ? "name" : "names"})`;
}

/** Rows of a stacked bar chart: the count of each group in each bucket. */
export function stackedRows(series: Series): {
  rows: SeriesRow[];
  groups: string[];
  totals: Record<string, number>;
} {
  const totals: Record<string, number> = {};
  const rows = new Map<number, SeriesRow>();
  // Each bucket has a row, so that the pointer finds those without a count.
  for (const { at } of bucketRows({ all: { ...series, groups: series.groups.slice(0, 1) } }))
    rows.set(at, { at });
  for (const { group, other, points } of series.groups) {
    const name = other === null ? (group ?? "all") : otherName(other);
    for (const point of points) {
      const at = Date.parse(point.at);
      const row = rows.get(at) ?? { at };
      row[name] = point.value ?? 0;
      rows.set(at, row);
      totals[name] = (totals[name] ?? 0) + (point.value ?? 0);
    }
  }
  const groups = Object.keys(totals).filter((name) => totals[name]! > 0);
  return { rows: [...rows.values()].sort((a, b) => a.at - b.at), groups, totals };
}

/**
 * The time axis of a bar chart: the range, extended to whole buckets that hold data.
 * Buckets start at round times, so the first and last may reach beyond the range.
 */
export function barDomain(
  rows: readonly SeriesRow[],
  groups: readonly string[],
  { from, to, step }: { from: number; to: number; step: number },
): [from: number, to: number] {
  const some = rows.filter((row) => groups.some((group) => (row[group] ?? 0) > 0));
  return [Math.min(from, some[0]?.at ?? from), Math.max(to, (some.at(-1)?.at ?? from) + step)];
}

/** `20%` as 0.2; null for thresholds in tokens, which a chart of shares cannot show. */
export function shareOf(threshold: ThresholdValue): number | null {
  if (typeof threshold !== "string" || !threshold.endsWith("%")) return null;
  return Number.parseFloat(threshold) / 100;
}
