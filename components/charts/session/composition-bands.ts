import type { CompositionPart, CompositionRow } from "../composition-parts.ts";
import type { Point, SawPoint } from "./shape.ts";

/** One part over consecutive turns that report it. Tokens from the bottom of the stack. */
export interface CompositionBand {
  name: CompositionPart["name"];
  upper: Point[];
  lower: Point[];
}

/** The stacked parts of the window, drawn over turns with a known composition; a turn without one leaves a gap. */
export function compositionBands(
  points: readonly SawPoint[],
  rows: readonly CompositionRow[],
  parts: readonly Pick<CompositionPart, "name">[],
): CompositionBand[] {
  const byTurn = new Map(rows.map((row) => [row.number, row]));
  const runs: { x: number; row: CompositionRow }[][] = [];
  let open: { x: number; row: CompositionRow }[] | undefined;
  for (const { x, point } of points) {
    const row = byTurn.get(point.number);
    if (row === undefined) open = undefined;
    else if (open === undefined) {
      open = [{ x, row }];
      runs.push(open);
    } else open.push({ x, row });
  }
  return runs.flatMap((run) => {
    const stack = run.map(() => 0);
    return parts.map(({ name }): CompositionBand => {
      const lower = run.map(({ x }, index) => ({ x, y: stack[index]! }));
      const upper = run.map(({ x, row }, index) => {
        stack[index]! += row[name] ?? 0;
        return { x, y: stack[index]! };
      });
      return { name, upper, lower };
    });
  });
}

/** The highest stack, in tokens. */
export const highestStack = (rows: readonly CompositionRow[]): number =>
  rows.reduce(
    (most, { number: _, ...parts }) =>
      Math.max(
        most,
        Object.values(parts).reduce((sum: number, tokens) => sum + (tokens ?? 0), 0),
      ),
    1,
  );
