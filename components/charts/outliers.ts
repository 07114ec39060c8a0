import type { Series } from "@plimsoll/protocol/api";

/** A value that the axis leaves out. `at` in epoch ms. */
export interface Outlier {
  at: number;
  value: number;
}

/** At most so many outliers have a number next to their mark. */
const MOST_LABELLED = 3;
/** Share of the range that a number needs before its mark, also on a phone. */
const LABEL_ROOM = 1 / 6;

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
 * The values of a bar on an axis that ends at `top`: as they are, or all made smaller by the same factor if their sum is beyond
 * it. So a bar that is cut off still shows what it consists of.
 */
export function cappedBar(values: readonly number[], top: number): { values: number[]; isCapped: boolean } {
  const sum = values.reduce((total, value) => total + value, 0);
  if (sum <= top) return { values: [...values], isCapped: false };
  return { values: values.map((value) => (value / sum) * top), isCapped: true };
}

/**
 * The outliers that get a number: the newest that have room for it.
 * @param times of all outliers, ascending, in epoch ms
 * @param from start of the range, in epoch ms
 * @param to end of the range, in epoch ms
 */
export function labelledOutliers(times: readonly number[], from: number, to: number): ReadonlySet<number> {
  const room = (to - from) * LABEL_ROOM;
  const free = times.filter((at, index) => at - Math.max(from, times[index - 1] ?? from) >= room);
  return new Set(free.slice(-MOST_LABELLED));
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
