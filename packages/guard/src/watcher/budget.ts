import type { Area } from "./section.ts";

/** The token budget of a watched prompt. */
export interface TokenBudget {
  /** Window size in tokens. */
  total: number;
  /** Fraction of the window that must stay free, such as 0.15. */
  reserveRatio: number;
  /** Fraction of the usable tokens for each area. The fractions need not add up to 1. */
  allocation: Readonly<Record<Area, number>>;
  /**
   * How far below the limit a compaction goes, as a fraction of the window. A larger value makes compactions rarer.
   */
  lowWaterRatio: number;
}

/** Default budget. */
export const DEFAULT_BUDGET: TokenBudget = {
  total: 8_000,
  reserveRatio: 0.15,
  allocation: { system: 0.7, context: 0.2, observation: 0.1 },
  lowWaterRatio: 0.05,
};

/**
 * Fills the missing fields of a budget with their defaults.
 * @throws {RangeError} If `total` is not positive, or `reserveRatio` or `lowWaterRatio` is outside 0 to 1.
 */
export function resolveBudget(input: Partial<TokenBudget>): TokenBudget {
  const budget = { ...DEFAULT_BUDGET, ...input };
  if (!(budget.total > 0))
    throw new RangeError(`budget.total must be a positive number, not ${budget.total}`);
  for (const key of ["reserveRatio", "lowWaterRatio"] as const) {
    const value = budget[key];
    if (!(value >= 0 && value < 1))
      throw new RangeError(`budget.${key} must be at least 0 and below 1, not ${value}`);
  }
  return budget;
}

/** The limit in whole tokens. A level equal to the limit is allowed. */
export function limitOf(budget: TokenBudget): number {
  // Compensates for floating point: 1 - 0.15 is slightly below 0.85, which would cost one token.
  return Math.floor(budget.total * (1 - budget.reserveRatio) + 1e-6);
}

/** The target level of a compaction, in whole tokens. */
export function lowWaterOf(budget: TokenBudget): number {
  return Math.max(0, Math.floor(budget.total * (1 - budget.reserveRatio - budget.lowWaterRatio) + 1e-6));
}
