/** How a figure stands against the same one of the period before, and why there may be nothing to say. */
export type Change =
  | { reason: "changed"; before: number; by: number }
  /** The period before has no figure, so any difference from it would say nothing. */
  | { reason: "no_trend" }
  /** None before and none now is no change worth a sign. */
  | { reason: "nothing" };

/** @param before null when nothing was heard in the period before. @param same differences below it are none */
export function periodChange(now: number, before: number | null, same = 0): Change {
  if (now === 0 && (before === null || before === 0)) return { reason: "nothing" };
  if (before === null) return { reason: "no_trend" };
  const by = now - before;
  return { reason: "changed", before, by: Math.abs(by) < same ? 0 : by };
}
