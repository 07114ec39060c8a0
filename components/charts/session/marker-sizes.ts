/** How a symbol on the chart is drawn. */
export interface MarkerSize {
  /** Of its ordinary size. */
  scale: number;
  /** Whether a line leads from it to the axis. */
  hasStem: boolean;
}

/** Distance in px at which two symbols of ordinary size do not touch. */
const ROOM_PX = 14;
const LEAST_SCALE = 0.45;
/** Urgent symbols are larger, and shrink only for each other. */
const URGENT_SCALE = 1.5;
const LEAST_URGENT_SCALE = 0.85;
/** Closer lines would hide the curve. */
const STEM_ROOM_PX = 9;

/** Sizes of symbols by their places in px, so that a crowd stays apart and what is urgent stands out of it. */
export function markerSizes(places: readonly { px: number; isUrgent: boolean }[]): MarkerSize[] {
  const all = gapsOf(places.map(({ px }) => px));
  const urgent = gapsOf(places.flatMap(({ px, isUrgent }) => (isUrgent ? [px] : [])));
  let next = 0;
  return places.map(({ isUrgent }, index) => {
    if (isUrgent) {
      const gap = urgent[next++]!;
      const scale = Math.min(URGENT_SCALE, Math.max(LEAST_URGENT_SCALE, gap / ROOM_PX));
      return { scale, hasStem: gap >= STEM_ROOM_PX };
    }
    const gap = all[index]!;
    return { scale: Math.min(1, Math.max(LEAST_SCALE, gap / ROOM_PX)), hasStem: gap >= STEM_ROOM_PX };
  });
}

/** The distance of each place to the nearest other one, in the order of the places. */
function gapsOf(places: readonly number[]): number[] {
  const order = places.map((px, index) => ({ px, index })).sort((a, b) => a.px - b.px);
  const gaps = places.map(() => Number.POSITIVE_INFINITY);
  for (const [place, { px, index }] of order.entries()) {
    const [left, right] = [order[place - 1], order[place + 1]];
    gaps[index] = Math.min(
      left === undefined ? Number.POSITIVE_INFINITY : px - left.px,
      right === undefined ? Number.POSITIVE_INFINITY : right.px - px,
    );
  }
  return gaps;
}
