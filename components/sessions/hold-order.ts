export interface HeldList<Row> {
  rows: Row[];
  /** Rows that are new, gone or elsewhere in the latest list. */
  updates: number;
}

/**
 * Keeps the rows that are on screen and their order, with the latest values. Rows that the latest list has after all of
 * them are appended: they are the next page, and move nothing.
 * @param held the rows as they were shown last
 */
export function holdOrder<Row extends { id: string }>(
  held: readonly Row[],
  latest: readonly Row[],
): HeldList<Row> {
  const placeOf = new Map(latest.map(({ id }, place) => [id, place]));
  const places = held.flatMap(({ id }) => placeOf.get(id) ?? []);
  const end = Math.max(-1, ...places) + 1;
  const shown = new Set(held.map(({ id }) => id));
  const added = latest.slice(0, end).filter(({ id }) => !shown.has(id)).length;
  const gone = held.length - places.length;
  const moved = places.length - longestRise(places);
  return {
    rows: [...held.map((row) => latest[placeOf.get(row.id) ?? -1] ?? row), ...latest.slice(end)],
    updates: added + gone + moved,
  };
}

/** Length of the longest increasing subsequence: the most rows that can stay where they are. */
function longestRise(numbers: readonly number[]): number {
  /** At index n the smallest last number of a rise of n + 1 numbers. */
  const lasts: number[] = [];
  for (const number of numbers) {
    let low = 0;
    let high = lasts.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (lasts[middle]! < number) low = middle + 1;
      else high = middle;
    }
    lasts[low] = number;
  }
  return lasts.length;
}
