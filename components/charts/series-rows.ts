import type { Series } from "@plimsoll/protocol";

export interface SeriesRow {
  at: number;
  [name: string]: number | null;
}

/** One row per bucket of the whole range, so that a bucket in which nothing happened shows as a gap, not a bridge. */
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

/** Marks values that stand alone: without a dot a line of one point cannot be seen. */
export function isolatedPoints(rows: readonly SeriesRow[], name: string): Set<number> {
  const has = (index: number) => typeof rows[index]?.[name] === "number";
  return new Set(
    rows.flatMap(({ at }, index) => (has(index) && !has(index - 1) && !has(index + 1) ? [at] : [])),
  );
}

/** Rows of a stacked bar chart: a count for every group in every bucket. */
export function stackedRows(series: Series): {
  rows: SeriesRow[];
  groups: string[];
  totals: Record<string, number>;
} {
  const totals: Record<string, number> = {};
  const rows = new Map<number, SeriesRow>();
  // Bars are as wide as the smallest distance between two rows: every bucket has one, or a lone bar is a hair.
  for (const { at } of bucketRows({ all: { ...series, groups: series.groups.slice(0, 1) } }))
    rows.set(at, { at });
  for (const { group, points } of series.groups) {
    const name = group ?? "all";
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
 * From where to where bars are drawn: all of the range, and whole each bucket in which something is. Buckets begin at
 * round times, so the first may begin before the range and the newest end after it.
 */
export function barDomain(
  rows: readonly SeriesRow[],
  groups: readonly string[],
  { from, to, step }: { from: number; to: number; step: number },
): [from: number, to: number] {
  const some = rows.filter((row) => groups.some((group) => (row[group] ?? 0) > 0));
  return [Math.min(from, some[0]?.at ?? from), Math.max(to, (some.at(-1)?.at ?? from) + step)];
}

/** `20%` as 0.2; anything that is not a share of the window has no place on a chart of shares. */
export function shareOf(threshold: string | number | null): number | null {
  if (typeof threshold !== "string" || !threshold.endsWith("%")) return null;
  return Number.parseFloat(threshold) / 100;
}
