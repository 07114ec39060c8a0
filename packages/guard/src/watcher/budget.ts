import type { Area } from "./section.ts";

export interface TokenBudget {
  /** Tokens of the whole window. */
  total: number;
  /** Share that must stay free. Fraction, such as 0.15. */
  reserveRatio: number;
  /** Share of what may be used for each part of the prompt. Fractions; they need not add up to 1. */
  allocation: Readonly<Record<Area, number>>;
  /** How far below the limit a compaction goes, so that the next is not due at once. Fraction of the total. */
  lowWaterRatio: number;
}

export const DEFAULT_BUDGET: TokenBudget = {
  total: 8_000,
  reserveRatio: 0.15,
  allocation: { system: 0.7, context: 0.2, observation: 0.1 },
  lowWaterRatio: 0.05,
};

/**
 * @throws {RangeError} when a share is outside 0 to 1 or nothing is left to use.
 */
export function resolveBudget(input: Partial<TokenBudget>): TokenBudget {
  const budget = { ...DEFAULT_BUDGET, ...input };
  if (!(budget.total > 0)) throw new RangeError(`budget.total must be positive, not ${budget.total}`);
  for (const key of ["reserveRatio", "lowWaterRatio"] as const) {
    const value = budget[key];
    if (!(value >= 0 && value < 1))
      throw new RangeError(`budget.${key} must be from 0 to below 1, not ${value}`);
  }
  return budget;
}

/** The invariant is `actual <= limit`: standing exactly on it is allowed. Whole tokens. */
export function limitOf(budget: TokenBudget): number {
  // 1 - 0.15 is 0.85 only almost: without the nudge a whole limit would come out one token short.
  return Math.floor(budget.total * (1 - budget.reserveRatio) + 1e-6);
}

/** The level a compaction aims for. Whole tokens. */
export function lowWaterOf(budget: TokenBudget): number {
  return Math.max(0, Math.floor(budget.total * (1 - budget.reserveRatio - budget.lowWaterRatio) + 1e-6));
}
