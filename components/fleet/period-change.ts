/** The change of a figure from the previous period, or the reason there is none. */
export type Change =
  | { reason: "changed"; before: number; by: number }
  /** The previous period has no data. */
  | { reason: "no_trend" }
  /** The figure is zero in both periods. */
  | { reason: "nothing" };

/**
 * @param before null if the previous period has no data
 * @param same smaller differences count as none
 */
export function periodChange(now: number, before: number | null, same = 0): Change {
  if (now === 0 && (before === null || before === 0)) return { reason: "nothing" };
  if (before === null) return { reason: "no_trend" };
  const by = now - before;
  return { reason: "changed", before, by: Math.abs(by) < same ? 0 : by };
}
