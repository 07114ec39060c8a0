import type { BoundaryView, ChartPoint, TurnView } from "@plimsoll/protocol/api";

/** Converts the recorded turns of one agent to chart shapes. `x` is a turn number or epoch ms, `y` tokens. */
export type Axis = "turns" | "time";

export interface Point {
  x: number;
  y: number;
}

export interface SawPoint extends Point {
  point: ChartPoint;
}

export interface SawMarker {
  boundary: BoundaryView;
  x: number;
  /** Level before the fall, in tokens; null if unknown. The marker is drawn above it. */
  from: number | null;
  to: number | null;
  /** The drawn turns around it. */
  before: SawPoint | undefined;
  after: SawPoint | undefined;
}

/** Another agent of the same session, drawn behind the selected one. */
export interface OtherAgent {
  id: string;
  name: string;
  /** The line to draw, on the axis of the selected agent. */
  points: Point[];
}

export interface Saw {
  points: SawPoint[];
  /** The line to draw, with a vertical edge at every boundary. */
  path: Point[];
  markers: SawMarker[];
  /** Start of each window after the first. */
  windows: { x: number; index: number }[];
}

/** The turn that a link opens. */
export interface LinkedPoint {
  number: number;
  x: number;
  /** Tokens; null if it was not counted. */
  y: number | null;
}

export const linkedPoint = (
  { number, at, context_tokens: y }: Pick<TurnView, "number" | "at" | "context_tokens">,
  axis: Axis,
): LinkedPoint => ({ number, x: axis === "turns" ? number : Date.parse(at), y });

export function shapeSaw(
  points: readonly ChartPoint[],
  boundaries: readonly BoundaryView[],
  axis: Axis,
): Saw {
  const counted = points
    .filter((point) => point.context_tokens !== null)
    .map((point) => ({
      x: axis === "turns" ? point.number : Date.parse(point.at),
      y: point.context_tokens!,
      point,
    }));
  const edges = new Map<number, SawMarker[]>();
  const markers = boundaries
    .filter((boundary) => boundary.explains_fall || boundary.type === "unexplained")
    .map((boundary) => {
      const next = indexAfter(counted, boundary);
      const marker = markerAt(counted, boundary, next, axis);
      edges.set(next, [...(edges.get(next) ?? []), marker]);
      return marker;
    });
  return { points: counted, path: pathOf(counted, edges), markers, windows: windowsOf(counted, edges) };
}

/**
 * Index of the first point after the boundary; `points.length` if there is none. The same order as on the server: a
 * mark precedes the later turns of its window, and an inferred one the turn that shows it.
 */
function indexAfter(points: readonly SawPoint[], { at, window, inferred }: BoundaryView): number {
  const time = Date.parse(at);
  const next = points.findIndex(({ point }) => {
    if (point.window !== window) return point.window > window;
    const turn = Date.parse(point.at);
    return inferred ? turn >= time : turn > time;
  });
  return next === -1 ? points.length : next;
}

function markerAt(points: readonly SawPoint[], boundary: BoundaryView, next: number, axis: Axis): SawMarker {
  const before = points[next - 1];
  const after = points[next];
  return {
    boundary,
    x: edgeOf(before, after, Date.parse(boundary.at), axis),
    from: boundary.tokens_before ?? before?.y ?? null,
    to: boundary.tokens_after ?? after?.y ?? null,
    before,
    after,
  };
}

function edgeOf(before: SawPoint | undefined, after: SawPoint | undefined, at: number, axis: Axis): number {
  if (axis === "time") {
    const low = before?.x ?? at;
    return Math.min(Math.max(at, low), after?.x ?? Math.max(at, low));
  }
  if (before !== undefined && after !== undefined) return (before.x + after.x) / 2;
  return before === undefined ? (after?.x ?? 0) : before.x + 0.5;
}

function pathOf(points: readonly SawPoint[], edges: ReadonlyMap<number, readonly SawMarker[]>): Saw["path"] {
  const path: Saw["path"] = [];
  for (let index = 0; index <= points.length; index++) {
    const point = points[index];
    for (const marker of edges.get(index) ?? []) {
      const level = path.at(-1)?.y;
      // An edge needs a level on both sides, and a boundary that did not lower the level has no edge.
      if (level === undefined || marker.to === null || marker.to >= (marker.from ?? level)) continue;
      path.push({ x: marker.x, y: marker.from ?? level }, { x: marker.x, y: marker.to });
    }
    const before = points[index - 1];
    if (point === undefined) continue;
    if (before !== undefined && before.point.window !== point.point.window && !edges.has(index)) {
      const x = (before.x + point.x) / 2;
      path.push({ x, y: before.y }, { x, y: point.y });
    }
    path.push({ x: point.x, y: point.y });
  }
  return path;
}

function windowsOf(
  points: readonly SawPoint[],
  edges: ReadonlyMap<number, readonly SawMarker[]>,
): Saw["windows"] {
  return points.flatMap(({ x, point }, index) => {
    const before = points[index - 1];
    if (before === undefined || before.point.window === point.window) return [];
    // A window starts at its boundary, which on the time axis is not halfway between turns.
    return [{ x: edges.get(index)?.at(-1)?.x ?? (before.x + x) / 2, index: point.window }];
  });
}

export interface ForecastLine {
  from: Point;
  to: Point;
}

/** Extrapolates the level at its current growth up to the line, over at most a tenth of the chart. */
export function forecastLine(
  saw: Saw,
  forecast: { reason: string; growth: number | null },
  line: number | null,
  axis: Axis,
): ForecastLine | null {
  const last = saw.points.at(-1);
  const first = saw.points[0];
  if (last === undefined || first === undefined || line === null) return null;
  if (forecast.reason !== "rising" || forecast.growth === null || forecast.growth <= 0) return null;
  const perTurn = axis === "turns" ? 1 : paceOf(saw.points);
  const room = Math.max((last.x - first.x) * 0.1, perTurn);
  const needed = ((line - last.y) / forecast.growth) * perTurn;
  const x = last.x + Math.min(needed, room);
  return {
    from: { x: last.x, y: last.y },
    to: { x, y: last.y + ((x - last.x) / perTurn) * forecast.growth },
  };
}

/** Median time between the latest turns, in ms. */
function paceOf(points: readonly SawPoint[]): number {
  const gaps = points
    .slice(-9)
    .map(({ x }, index, recent) => (index === 0 ? Number.NaN : x - recent[index - 1]!.x))
    .filter((gap) => gap > 0)
    .sort((a, b) => a - b);
  return gaps[gaps.length >> 1] ?? 1;
}

/** The end of the window is on the chart unless everything else would fill less than this share of the height. */
const LEAST_FILLED = 0.5;

/**
 * Top of the vertical axis: the highest level, the line or the end of the window, plus room for a marker.
 * @param line highest threshold, in tokens
 * @param windowEnd in tokens; left out if it is far above everything else
 */
export function topOf(
  saw: Pick<Saw, "points" | "markers">,
  line: number | null,
  windowEnd: number | null,
): number {
  const highest = Math.max(
    1,
    line ?? 0,
    ...saw.points.map(({ y }) => y),
    ...saw.markers.map(({ from }) => from ?? 0),
  );
  const isNear = windowEnd !== null && highest >= windowEnd * LEAST_FILLED;
  return (isNear ? Math.max(highest, windowEnd) : highest) * 1.14;
}
