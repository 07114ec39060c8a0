import type { TurnSpan } from "../../turn-span.ts";
import type { Domain } from "./scales.ts";
import type { Axis, Point, Saw, SawPoint } from "./shape.ts";

/** The part of the axis that shows these turns; undefined if fewer than two of them are drawn. */
export function zoomDomain(
  points: readonly SawPoint[],
  { from, to }: TurnSpan,
  axis: Axis,
): Domain | undefined {
  const inside = points.filter(({ point: { number } }) => number >= from && number <= to);
  if (inside.length < 2) return undefined;
  if (axis === "turns") return [inside[0]!.x - 0.5, inside.at(-1)!.x + 0.5];
  const times = inside.map(({ x }) => x);
  const [first, last] = [Math.min(...times), Math.max(...times)];
  return first === last ? undefined : [first, last];
}

/** What of the saw-tooth is seen in a domain. Lines keep a point beyond each end, so that they reach the edges. */
export function sawWithin(saw: Saw, [from, to]: Domain): Saw {
  const isInside = ({ x }: { x: number }) => x >= from && x <= to;
  return {
    points: saw.points.filter(isInside),
    path: lineWithin(saw.path, [from, to]),
    markers: saw.markers.filter(isInside),
    windows: saw.windows.filter(isInside),
  };
}

/** The points of a line inside a domain, and those just before and after them. */
export function lineWithin<P extends Pick<Point, "x">>(line: readonly P[], [from, to]: Domain): P[] {
  const isInside = (index: number) =>
    line[index] !== undefined && line[index].x >= from && line[index].x <= to;
  const kept = line.filter((_, index) => isInside(index) || isInside(index - 1) || isInside(index + 1));
  if (kept.length > 0) return kept;
  // No point is inside, but a segment may pass.
  const after = line.findIndex(({ x }) => x > to);
  return after > 0 ? line.slice(after - 1, after + 1) : [];
}

/** The point next to a place on the axis; of two that are as near, the first. */
export function pointNear(points: readonly SawPoint[], x: number): SawPoint | undefined {
  let nearest: SawPoint | undefined;
  for (const one of points)
    if (nearest === undefined || Math.abs(one.x - x) < Math.abs(nearest.x - x)) nearest = one;
  return nearest;
}

/** The drawn point of a turn, or of the last one before it: a long history is thinned. */
export function pointOfTurn(points: readonly SawPoint[], turn: number): SawPoint | undefined {
  return points.findLast(({ point }) => point.number <= turn);
}
