import type { SeriesRow } from "./series-rows.ts";

/** The size of a drawing of curves; it is stretched over the plot. */
export const CURVE_BOX = { width: 1_000, height: 100 };

/** Places a time and a value in the drawing. */
export interface CurveScale {
  /** The axis of times, epoch ms. */
  from: number;
  to: number;
  /** The value at the top; 0 is at the bottom. */
  top: number;
}

/** Runs of buckets that have a value. */
function runsOf(rows: readonly SeriesRow[], name: string): { at: number; value: number }[][] {
  const runs: { at: number; value: number }[][] = [[]];
  for (const row of rows) {
    const value = row[name];
    if (typeof value === "number") runs.at(-1)!.push({ at: row.at, value });
    else if (runs.at(-1)!.length > 0) runs.push([]);
  }
  return runs.filter((run) => run.length > 1);
}

const rounded = (place: number) => Number(place.toFixed(2));

/** The path of a series, with a gap at each bucket without a value. A value alone has no path. */
export function curvePath(rows: readonly SeriesRow[], name: string, scale: CurveScale): string {
  return runsOf(rows, name)
    .map((run) => `M${run.map((point) => placed(point, scale)).join("L")}`)
    .join("");
}

/** The area below that path. */
export function areaPath(rows: readonly SeriesRow[], name: string, scale: CurveScale): string {
  return runsOf(rows, name)
    .map((run) => {
      const floor = run.map(({ at }) => ({ at, value: 0 }));
      const outline = [floor[0]!, ...run, floor.at(-1)!];
      return `M${outline.map((point) => placed(point, scale)).join("L")}Z`;
    })
    .join("");
}

function placed({ at, value }: { at: number; value: number }, { from, to, top }: CurveScale): string {
  const x = ((at - from) / (to - from)) * CURVE_BOX.width;
  const y = (1 - value / top) * CURVE_BOX.height;
  return `${rounded(x)} ${rounded(y)}`;
}
