/** Two loads that take turns: one sends in the slices of time with an even number, the other in those with an odd one. */
export interface Shift {
  /** Milliseconds. */
  slice: number;
  odd: boolean;
}

/** The number of the slice at a time in epoch ms. Two processes agree on it. */
export function sliceAt(slice: number, at: number): number {
  return Math.floor(at / slice);
}

/** What the sides did in two slices that follow each other. */
export interface Pair {
  /** Number of the even one. */
  slice: number;
  even: number;
  odd: number;
}

/** Each even slice with the odd one after it. Slices that only one side has are left out. */
export function pairsOf(
  even: Readonly<Record<number, number>>,
  odd: Readonly<Record<number, number>>,
): Pair[] {
  return Object.keys(even)
    .map(Number)
    .filter((slice) => slice % 2 === 0 && odd[slice + 1] !== undefined)
    .sort((a, b) => a - b)
    .map((slice) => ({
      slice,
      // A request sent at the end of a slice is answered in the next, which is not its side's own.
      even: even[slice]! + (even[slice + 1] ?? 0),
      odd: odd[slice + 1]! + (odd[slice + 2] ?? 0),
    }));
}
