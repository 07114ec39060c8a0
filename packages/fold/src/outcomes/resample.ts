import type { SplitVerdict } from "@plimsoll/protocol/pure";

/** Sessions below which nothing is claimed. */
export const LEAST_SESSIONS = 30;
const RESAMPLES = 500;
/** Of each side of an interval. */
const TAIL = 0.025;

/** What each session tells of the difference, and how much that counts. */
export interface Terms {
  told: Float64Array;
  weight: Float64Array;
}

export function total(values: Float64Array): number {
  let sum = 0;
  for (let index = 0; index < values.length; index++) sum += values[index]!;
  return sum;
}

export interface Interval {
  /** Ends of the interval that holds the difference in 95 of 100 resamples of the sessions. */
  low: number;
  high: number;
  verdict: SplitVerdict;
}

/**
 * @param drawn differences in resamples
 * @param tries how many differences had their chance: the odds of a false claim are shared among them
 */
export function intervalOf(drawn: Float64Array, sessions: number, tries: number): Interval {
  const inOrder = drawn.toSorted();
  const quantile = (share: number) => inOrder[Math.round(share * (RESAMPLES - 1))]!;
  return {
    low: quantile(TAIL),
    high: quantile(1 - TAIL),
    verdict: verdictOf(sessions, quantile, TAIL / tries),
  };
}

function verdictOf(sessions: number, quantile: (share: number) => number, tail: number): SplitVerdict {
  if (sessions < LEAST_SESSIONS) return "few_sessions";
  if (quantile(tail) > 0) return "rises";
  return quantile(1 - tail) < 0 ? "falls" : "unclear";
}

/**
 * Differences in resamples of the sessions, for each of some terms. The same sessions are drawn for each of them, and the
 * same input always gives the same result.
 */
export function resampled(sessions: number, terms: readonly Terms[]): Float64Array[] {
  const drawn = terms.map(() => new Float64Array(RESAMPLES));
  const random = randomNumbers(sessions);
  const times = new Float64Array(sessions);
  const width = 2 * terms.length;
  const bySession = termsBySession(sessions, terms);
  const sums = new Float64Array(width);
  for (let resample = 0; resample < RESAMPLES; resample++) {
    times.fill(0);
    for (let draw = 0; draw < sessions; draw++) times[(random() * sessions) >>> 0]! += 1;
    sums.fill(0);
    for (let session = 0; session < sessions; session++) {
      const drawnTimes = times[session]!;
      if (drawnTimes === 0) continue;
      const from = session * width;
      for (let at = 0; at < width; at++) sums[at]! += drawnTimes * bySession[from + at]!;
    }
    for (let border = 0; border < terms.length; border++) {
      const whole = sums[2 * border + 1]!;
      drawn[border]![resample] = whole === 0 ? 0 : sums[2 * border]! / whole;
    }
  }
  return drawn;
}

/** What each session tells and its weight, border by border: resamples read them in this order. */
function termsBySession(sessions: number, terms: readonly Terms[]): Float64Array {
  const all = new Float64Array(2 * sessions * terms.length);
  for (const [border, { told, weight }] of terms.entries())
    for (let session = 0; session < sessions; session++) {
      const at = 2 * (session * terms.length + border);
      all[at] = told[session]!;
      all[at + 1] = weight[session]!;
    }
  return all;
}

/** Numbers from 0 to 1, not included (mulberry32). */
function randomNumbers(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
