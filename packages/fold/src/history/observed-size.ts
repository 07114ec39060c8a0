/** A window size that a harness reported for a model. */
export interface ObservedSize {
  tokens: number;
  /** The last day on which it was reported, in days since 1970 (UTC). */
  day: number;
  /** Who reported it; see `witnessMask`. */
  witnesses: number;
}

/** Sizes of a model that are remembered: the latest. */
export const MOST_SIZES = 4;
/** Days within which different sizes contradict each other. A size that is not reported for so long is outdated. */
export const CONTESTED_DAYS = 7;

/**
 * The sizes with one more report. Returns the same list if it says nothing new. The result depends only on the set of reports:
 * an order of days and sizes decides which are kept.
 */
export function addSize(sizes: readonly ObservedSize[], report: ObservedSize): readonly ObservedSize[] {
  const known = sizes.find(({ tokens }) => tokens === report.tokens);
  const witnesses = (known?.witnesses ?? 0) | report.witnesses;
  const day = Math.max(known?.day ?? report.day, report.day);
  if (known?.day === day && known.witnesses === witnesses) return sizes;
  const added = [...sizes.filter((one) => one !== known), { tokens: report.tokens, day, witnesses }];
  const kept = added.sort((a, b) => b.day - a.day || a.tokens - b.tokens).slice(0, MOST_SIZES);
  return known === undefined && !kept.some(({ tokens }) => tokens === report.tokens) ? sizes : kept;
}

/**
 * The size that holds for sessions that report none, in tokens. Of different ones within a week, the smallest: plans and
 * machines differ, and a warning that is early does less harm than one that is late. Undefined without a report, and if the
 * sizes are so many that they depend on the session.
 */
export function settledSize(sizes: readonly ObservedSize[]): number | undefined {
  const recent = recentSizes(sizes);
  if (recent.length === 0 || recent.length === MOST_SIZES) return undefined;
  return Math.min(...recent.map(({ tokens }) => tokens));
}

/** The sizes that were reported within a week before the latest report. */
export function recentSizes(sizes: readonly ObservedSize[]): ObservedSize[] {
  const newest = Math.max(...sizes.map(({ day }) => day));
  return sizes.filter(({ day }) => day > newest - CONTESTED_DAYS);
}
