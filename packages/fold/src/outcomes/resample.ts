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
  for (let resample = 0; resample < RESAMPLES; resample++) {
    times.fill(0);
    for (let draw = 0; draw < sessions; draw++) times[(random() * sessions) >>> 0]! += 1;
    for (let border = 0; border < terms.length; border++)
      drawn[border]![resample] = difference(times, terms[border]!);
  }
  return drawn;
}

/** Sums stay in registers, so this is several times as fast as one pass for all terms. */
function difference(times: Float64Array, { told, weight }: Terms): number {
  let [above, whole] = [0, 0];
  for (let session = 0; session < times.length; session++) {
    above += times[session]! * told[session]!;
    whole += times[session]! * weight[session]!;
  }
  return whole === 0 ? 0 : above / whole;
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
