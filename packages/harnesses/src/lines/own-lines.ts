import { type ThresholdValue, thresholdTokens } from "@plimsoll/protocol/pure";
import type { OwnLine } from "./family-line.ts";
import { familyLine } from "./family-lines.ts";

const ownOf = (harness: string): OwnLine | undefined => familyLine(harness)?.own;

export const hasOwnLine = (harness: string): boolean => ownOf(harness) !== undefined;

/**
 * Where a harness compacts by itself with its default settings, in tokens. Undefined if its family or the size of its window is
 * unknown, or if it does not compact in such a window.
 * @example ownLine("claude-code@laptop", 200_000) // 167000
 */
export function ownLine(harness: string, windowTokens: number | undefined): number | undefined {
  const own = ownOf(harness);
  if (own === undefined || windowTokens === undefined) return undefined;
  const { rules, small } = own;
  const applied = small !== undefined && windowTokens <= small.upTo ? [small.rule] : rules;
  const tokens = applied.map((rule) => thresholdTokens("ceiling", rule, windowTokens) ?? 0);
  return Math.min(...tokens) || undefined;
}

/** The own line of a harness as thresholds, which can state one rule only. */
export function ownThresholds(
  harness: string,
): { ceiling: NonNullable<ThresholdValue>; warning: string } | undefined {
  const own = ownOf(harness);
  return own && { ceiling: own.rules[0], warning: own.warning };
}
