import type { Point } from "./shape.ts";

/** A rectangle in px. */
export interface Box {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

export interface Wish<P extends Box = Box> {
  /** Candidate positions, best first. */
  places: readonly P[];
  /** Higher ranks are placed first; among equals, the earlier. */
  rank: number;
  /** True if the label may cover lines, as few as possible, rather than be left out. */
  required?: boolean;
}

export interface Surroundings {
  /** Labels stay inside this area. */
  area: Box;
  /** Labels never cover these. */
  taken: readonly Box[];
  /** Curves and threshold lines. Only required labels may cover them. */
  lines: readonly (readonly Point[])[];
}

/** The best free position of each label; undefined if there is none, and the label is left out. */
export function placeLabels<P extends Box>(
  wishes: readonly Wish<P>[],
  { area, taken, lines }: Surroundings,
): (P | undefined)[] {
  const chosen: (P | undefined)[] = wishes.map(() => undefined);
  // A chart of many turns has a thousand symbols and curves of as many pieces.
  const occupied = new ByColumn<Box>(area);
  for (const box of taken) occupied.add(box, box.left, box.right);
  const pieces = new ByColumn<readonly [Point, Point]>(area);
  for (const line of lines)
    for (const [index, to] of line.entries()) {
      const from = line[index - 1];
      if (from !== undefined) pieces.add([from, to], Math.min(from.x, to.x), Math.max(from.x, to.x));
    }
  const inOrder = wishes.map((wish, index) => ({ wish, index })).sort((a, b) => b.wish.rank - a.wish.rank);
  for (const { wish, index } of inOrder) {
    const free = wish.places.filter(
      (place) => within(place, area) && !occupied.near(place).some((box) => overlap(place, box)),
    );
    const covered = (place: P) => lines.filter((line) => crosses(line, place)).length;
    const clear = free.find((place) => !pieces.near(place).some(([a, b]) => segmentCrosses(a, b, place)));
    const place = clear ?? (wish.required ? leastOf(free, covered) : undefined);
    if (place === undefined) continue;
    chosen[index] = place;
    occupied.add(place, place.left, place.right);
  }
  return chosen;
}

/** Finds things by the columns of the drawing that they reach into. */
class ByColumn<T> {
  readonly #columns = new Map<number, T[]>();

  /** @param area what is looked for is within it; a zoomed line may reach far beyond */
  constructor(readonly area: Box) {}

  add(thing: T, left: number, right: number): void {
    const last = columnOf(Math.min(right, this.area.right));
    for (let column = columnOf(Math.max(left, this.area.left)); column <= last; column++) {
      const things = this.#columns.get(column);
      if (things === undefined) this.#columns.set(column, [thing]);
      else things.push(thing);
    }
  }

  /** All that may overlap the box; some of them more than once. */
  near({ left, right }: Box): T[] {
    const found: T[] = [];
    for (let column = columnOf(left); column <= columnOf(right); column++)
      found.push(...(this.#columns.get(column) ?? []));
    return found;
  }
}

const COLUMN_PX = 32;
const columnOf = (x: number) => Math.floor(x / COLUMN_PX);

/** The first position with the lowest cost. */
function leastOf<P>(places: readonly P[], cost: (place: P) => number): P | undefined {
  const costs = places.map(cost);
  return places[costs.indexOf(Math.min(...costs))];
}

const within = (box: Box, area: Box) =>
  box.left >= area.left && box.right <= area.right && box.top >= area.top && box.bottom <= area.bottom;

const overlap = (a: Box, b: Box) =>
  a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;

/** True if a polyline crosses the box. */
function crosses(line: readonly Point[], box: Box): boolean {
  return line.some((to, index) => index > 0 && segmentCrosses(line[index - 1]!, to, box));
}

/** Clips the segment to the width of the box, then compares it with the top and bottom. */
function segmentCrosses(a: Point, b: Point, box: Box): boolean {
  const [from, to] = a.x <= b.x ? [a, b] : [b, a];
  if (to.x < box.left || from.x > box.right) return false;
  const levelAt = (x: number) =>
    to.x === from.x ? undefined : from.y + ((to.y - from.y) * (x - from.x)) / (to.x - from.x);
  const start = levelAt(Math.max(from.x, box.left)) ?? from.y;
  const end = levelAt(Math.min(to.x, box.right)) ?? to.y;
  return Math.max(start, end) > box.top && Math.min(start, end) < box.bottom;
}
