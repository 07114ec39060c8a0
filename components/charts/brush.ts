/** Times in epoch ms. */
export interface TimeRange {
  from: number;
  to: number;
}

/** What a press and release on a chart of buckets asks for. */
export type Brushed = TimeRange & { intent: "open" | "zoom" };

/**
 * The buckets from one to another, in either direction and within the range. A press and release on one bucket opens it.
 * @param step length of a bucket in ms
 */
export function brushed(pressed: number, released: number, step: number, range: TimeRange): Brushed {
  return {
    intent: pressed === released ? "open" : "zoom",
    from: Math.max(range.from, Math.min(pressed, released)),
    to: Math.min(range.to, Math.max(pressed, released) + step),
  };
}

/** The index of the value nearest to `at` in an ascending list; null if the list is empty. */
export function nearestBucket(buckets: readonly number[], at: number): number | null {
  let nearest: number | null = null;
  for (const [index, bucket] of buckets.entries())
    if (nearest === null || Math.abs(bucket - at) < Math.abs(buckets[nearest]! - at)) nearest = index;
  return nearest;
}
