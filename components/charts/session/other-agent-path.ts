import type { BoundaryView, ChartPoint } from "@plimsoll/protocol/api";
import { type Axis, type Point, shapeSaw } from "./shape.ts";

/**
 * The line of another agent, with vertical edges at its falls. `spots` are the positions of its counted turns;
 * a fall is placed between the positions of the turns around it, or on the time axis at its own time.
 */
export function otherAgentPath(
  points: readonly ChartPoint[],
  boundaries: readonly BoundaryView[],
  spots: readonly Point[],
  axis: Axis,
): Point[] {
  const { points: own, path } = shapeSaw(points, boundaries, axis);
  const last = own.at(-1);
  if (last === undefined) return [];
  // A fall after the last turn has no level after it yet, so the line ends at that turn.
  const drawn = path.filter(({ x }) => x <= last.x);
  if (axis === "time") return drawn;
  let after = 0;
  return drawn.map(({ x, y }) => {
    while (own[after]!.x < x) after += 1;
    const here = own[after]!;
    const before = own[after - 1] ?? here;
    const share = here.x === before.x ? 0 : (x - before.x) / (here.x - before.x);
    const from = spots[Math.max(0, after - 1)]!.x;
    return { x: from + (spots[after]!.x - from) * share, y };
  });
}
