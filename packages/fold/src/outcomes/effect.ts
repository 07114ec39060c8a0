import type { EffectVerdict } from "@plimsoll/protocol/pure";
import { LEVEL_BANDS } from "./cells.ts";
import { qualityOf } from "./quality.ts";
import { intervalOf, LEAST_SESSIONS, resampled, type Terms, total } from "./resample.ts";
import type { SignalCells } from "./signal-cells.ts";

/** Days after which a ceiling is judged. */
export const EFFECT_DAYS = 14;

/** A change of a rate, in signals per call, and the ends of its interval of 95 %. */
export interface SignalChange {
  change: number;
  low: number;
  high: number;
}

export interface RateOfSessions {
  sessions: number;
  /** Signals per call. Undefined without calls. */
  rate: number | undefined;
}

/** What a new ceiling did to how often a signal shows. */
export interface CeilingEffect {
  /** What the sessions before let expect; undefined if no rise was certain at that level. */
  estimate: SignalChange | undefined;
  before: RateOfSessions;
  after: RateOfSessions;
  /** Undefined without calls on both sides. */
  measured: SignalChange | undefined;
  verdict: EffectVerdict;
}

/**
 * Compares the sessions before a new ceiling with those after it, beside what the ones before let expect.
 * @param ceiling tokens
 * @param days since the ceiling holds
 */
export function ceilingEffect(
  before: SignalCells,
  after: SignalCells,
  { ceiling, days }: { ceiling: number; days: number },
): CeilingEffect {
  const [one, other] = [termsOf(before), termsOf(after)];
  const estimate = estimateOf(before, ceiling);
  const measured = changeOf(one, other);
  const sides = { before: rateOf(one), after: rateOf(other) };
  const isEarly =
    days < EFFECT_DAYS || Math.min(sides.before.sessions, sides.after.sessions) < LEAST_SESSIONS;
  const verdict = measured === undefined || isEarly ? "too_early" : verdictOf(measured, estimate);
  return { estimate, ...sides, measured, verdict };
}

function verdictOf({ low, high }: SignalChange, estimate: SignalChange | undefined): EffectVerdict {
  // The least that was estimated, or no change for the worse.
  if (low > (estimate?.high ?? 0)) return "missed";
  return high < 0 ? "met" : "unclear";
}

/** If calls above the ceiling went as those below it: the difference at the border next to it, for the share of calls above. */
function estimateOf(cells: SignalCells, ceiling: number): SignalChange | undefined {
  const distance = (border: number) => Math.abs(Math.log(border / ceiling));
  const border = LEVEL_BANDS.slice(1).reduce((best, one) => (distance(one) < distance(best) ? one : best));
  const split = qualityOf(cells).levelSplits.find(({ at }) => at === border);
  if (split?.verdict !== "rises") return undefined;
  const band = LEVEL_BANDS.indexOf(border);
  const { level, calls } = cells.columns();
  const above = calls.filter((_, cell) => level[cell]! >= band);
  const share = total(above) / total(calls);
  return { change: -split.difference * share, low: -split.high * share, high: -split.low * share };
}

/** Signals and calls of each session. */
function termsOf(cells: SignalCells): Terms {
  const terms = { told: new Float64Array(cells.counted), weight: new Float64Array(cells.counted) };
  const { session, calls, found } = cells.columns();
  for (const [cell, of] of session.entries()) {
    terms.told[of]! += found[cell]!;
    terms.weight[of]! += calls[cell]!;
  }
  return terms;
}

function rateOf({ told, weight }: Terms): RateOfSessions {
  const calls = total(weight);
  return {
    sessions: weight.reduce((sum, own) => sum + Number(own > 0), 0),
    rate: calls === 0 ? undefined : total(told) / calls,
  };
}

function changeOf(before: Terms, after: Terms): SignalChange | undefined {
  const [one, other] = [rateOf(before), rateOf(after)];
  if (one.rate === undefined || other.rate === undefined) return undefined;
  const [drawnBefore] = resampled(before.told.length, [before]);
  const [drawnAfter] = resampled(after.told.length, [after]);
  const drawn = drawnAfter!.map((rate, resample) => rate - drawnBefore![resample]!);
  const { low, high } = intervalOf(drawn, Math.min(one.sessions, other.sessions), 1);
  return { change: other.rate - one.rate, low, high };
}
