import type { RecentLevels } from "@plimsoll/protocol/api";

export interface SparklineSize {
  width: number;
  height: number;
  /** Free space on each side, so that marks are not cut off. */
  margin: number;
}

export interface SparklinePoint {
  x: number;
  y: number;
}

export interface SparklineLayout {
  /** An SVG path through the levels. */
  path: string;
  falls: (SparklinePoint & { type: string })[];
  last: SparklinePoint | null;
  /** Where the agent's line is; null if it lies far above the levels. */
  lineY: number | null;
}

/** A line further above the highest level would flatten the levels. */
const LINE_IN_VIEW = 1.6;
const LEAST_TURNS = 8;

/** The levels from zero to the highest, or to the line if it is near. Turns are evenly spaced; the latest is at the right. */
export function sparkline(
  { levels, falls }: RecentLevels,
  line: number | null,
  { width, height, margin }: SparklineSize,
): SparklineLayout {
  const highest = Math.max(1, ...levels);
  const inView = line !== null && line <= highest * LINE_IN_VIEW;
  const top = inView ? Math.max(highest, line) : highest;
  const step = (width - 2 * margin) / (Math.max(levels.length, LEAST_TURNS) - 1);
  const yOf = (tokens: number) => round(height - margin - (tokens / top) * (height - 2 * margin));
  const points = levels.map((tokens, index) => ({
    x: round(width - margin - (levels.length - 1 - index) * step),
    y: yOf(tokens),
  }));
  return {
    path: points.map(({ x, y }, index) => `${index === 0 ? "M" : "L"}${x} ${y}`).join(""),
    falls: falls.flatMap(({ index, type }) => {
      const point = points[index];
      return point === undefined ? [] : [{ ...point, type }];
    }),
    last: points.at(-1) ?? null,
    lineY: inView ? yOf(line) : null,
  };
}

const round = (value: number) => Math.round(value * 10) / 10;
