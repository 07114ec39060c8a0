import type { BoundaryView, ChartPoint } from "@plimsoll/protocol";
import type { Axis, Point } from "./shape.ts";
import { shapeSaw } from "./shape.ts";

/**
 * The line of an agent beside the one shown, its falls as steep as there. `spots` are where its counted turns stand;
 * a fall between two of them stands between their places. On the axis of time it stands at its own time.
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
  // A fall after the last turn has no level on its other side yet, and the agent's dot stands at that turn.
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
