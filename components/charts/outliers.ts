import type { Series } from "@plimsoll/protocol";

/** A value that the axis leaves out. `at` in epoch ms. */
export interface Outlier {
  at: number;
  value: number;
}

/** With fewer values, none is unusual. */
const FEWEST = 8;
/** A value so many times above nine tenths of the others is an outlier. */
const TIMES = 5;
const ROOM = 1.5;

/** The top of an axis from zero: the highest value, or less if single values would flatten all others. */
export function axisTop(values: readonly number[]): number {
  const sorted = values.filter((value) => value > 0).sort((a, b) => a - b);
  const highest = sorted.at(-1) ?? 0;
  if (sorted.length < FEWEST) return highest;
  const most = sorted[Math.ceil(sorted.length * 0.9) - 1]!;
  return highest > most * TIMES ? most * ROOM : highest;
}

/**
 * A series of utilization without levels above the window, which say that a window size is wrong: what is left of each bucket,
 * and what was left out.
 */
export function withinWindow(series: Series | undefined): {
  series: Series | undefined;
  outliers: Outlier[];
} {
  if (series === undefined) return { series, outliers: [] };
  const outliers: Outlier[] = [];
  const groups = series.groups.map((group) => ({
    ...group,
    points: group.points.map((point) => {
      if (point.value === null || point.value <= 1) return point;
      outliers.push({ at: Date.parse(point.at), value: point.value });
      return { ...point, value: point.within ?? null };
    }),
  }));
  return { series: { ...series, groups }, outliers };
}
