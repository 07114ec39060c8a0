/** Utilization is counted in fixed bins of 2.5 % up to 200 %, so that histograms add up and percentiles merge. */
export const BIN_WIDTH = 0.025;
/** The last bin holds everything at or above 200 %. */
export const BIN_COUNT = 81;

/** The bin of a utilization (a fraction of the window). */
export function binOf(utilization: number): number {
  // 0.15 / 0.025 is 5.999…: without the nudge a level on a bin's edge would fall into the bin below.
  return Math.min(BIN_COUNT - 1, Math.max(0, Math.floor(utilization / BIN_WIDTH + 1e-9)));
}

/** Adds histograms whose trailing zeros were left out. */
export function addBins(a: readonly number[], b: readonly number[]): number[] {
  return Array.from(
    { length: Math.max(a.length, b.length) },
    (_, index) => (a[index] ?? 0) + (b[index] ?? 0),
  );
}

/**
 * The utilization below which a share of the turns lie, as a fraction of the window; interpolated within the bin, so
 * it is exact to one bin (2.5 points). `peak` caps it: no percentile may exceed the highest value seen.
 */
export function percentile(bins: readonly number[], share: number, peak?: number): number | undefined {
  const total = bins.reduce((sum, value) => sum + value, 0);
  if (total <= 0) return undefined;
  const target = share * total;
  let below = 0;
  for (const [index, value] of bins.entries()) {
    if (value > 0 && below + value >= target) {
      // The last bin has no upper edge but the peak.
      const width =
        index === BIN_COUNT - 1 ? Math.max(BIN_WIDTH, (peak ?? 0) - index * BIN_WIDTH) : BIN_WIDTH;
      const at = index * BIN_WIDTH + ((target - below) / value) * width;
      return peak === undefined ? at : Math.min(at, peak);
    }
    below += value;
  }
  return peak ?? bins.length * BIN_WIDTH;
}
