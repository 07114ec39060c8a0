import type { Point } from "./shape.ts";

/** Finds room in a chart for its labels. Pure; everything in px. */
export interface Box {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

export interface Wish<P extends Box = Box> {
  /** Where the label may stand, the best first. */
  places: readonly P[];
  /** Who chooses first; the earlier among equals. */
  rank: number;
  /** Whether it would rather cover lines, as few as can be, than be left out. */
  insists?: boolean;
}

export interface Surroundings {
  /** No label leaves this. */
  area: Box;
  /** What no label may cover. */
  taken: readonly Box[];
  /** What a label covers only when it insists and has no other place: the curves, and the lines across. */
  lines: readonly (readonly Point[])[];
}

/** The first free place of each label, or none: then its text is left out. */
export function placeLabels<P extends Box>(
  wishes: readonly Wish<P>[],
  { area, taken, lines }: Surroundings,
): (P | undefined)[] {
  const chosen: (P | undefined)[] = wishes.map(() => undefined);
  const occupied: Box[] = [...taken];
  const inOrder = wishes.map((wish, index) => ({ wish, index })).sort((a, b) => b.wish.rank - a.wish.rank);
  for (const { wish, index } of inOrder) {
    const free = wish.places.filter(
      (place) => within(place, area) && occupied.every((box) => !overlap(place, box)),
    );
    const covered = (place: P) => lines.filter((line) => crosses(line, place)).length;
    const clear = free.find((place) => lines.every((line) => !crosses(line, place)));
    const place = clear ?? (wish.insists ? leastOf(free, covered) : undefined);
    if (place === undefined) continue;
    chosen[index] = place;
    occupied.push(place);
  }
  return chosen;
}

/** The first of those with the lowest figure. */
function leastOf<P>(places: readonly P[], figure: (place: P) => number): P | undefined {
  const figures = places.map(figure);
  return places[figures.indexOf(Math.min(...figures))];
}

const within = (box: Box, area: Box) =>
  box.left >= area.left && box.right <= area.right && box.top >= area.top && box.bottom <= area.bottom;

const overlap = (a: Box, b: Box) =>
  a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;

/** Whether a line of straight pieces runs through a box. */
function crosses(line: readonly Point[], box: Box): boolean {
  return line.some((to, index) => index > 0 && pieceCrosses(line[index - 1]!, to, box));
}

/** Cuts the piece to the width of the box; what is left lies above it, below it or in it. */
function pieceCrosses(a: Point, b: Point, box: Box): boolean {
  const [from, to] = a.x <= b.x ? [a, b] : [b, a];
  if (to.x < box.left || from.x > box.right) return false;
  const levelAt = (x: number) =>
    to.x === from.x ? undefined : from.y + ((to.y - from.y) * (x - from.x)) / (to.x - from.x);
  const start = levelAt(Math.max(from.x, box.left)) ?? from.y;
  const end = levelAt(Math.min(to.x, box.right)) ?? to.y;
  return Math.max(start, end) > box.top && Math.min(start, end) < box.bottom;
}
