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
  const times = new Float64Array(AT_ONCE * sessions);
  for (let resample = 0; resample < RESAMPLES; resample += AT_ONCE) {
    times.fill(0);
    for (let at = 0; at < AT_ONCE; at++)
      for (let draw = 0; draw < sessions; draw++) times[AT_ONCE * ((random() * sessions) >>> 0) + at]! += 1;
    for (let border = 0; border < terms.length; border++)
      addDifferences(times, terms[border]!, drawn[border]!, resample);
  }
  return drawn;
}

/** Resamples that are added up together: their sums stay in registers while what each session tells is read once. */
const AT_ONCE = 4;

/** @param times how often each session was drawn, of `AT_ONCE` resamples side by side */
function addDifferences(times: Float64Array, { told, weight }: Terms, into: Float64Array, at: number): void {
  let [toldA, toldB, toldC, toldD] = [0, 0, 0, 0];
  let [wholeA, wholeB, wholeC, wholeD] = [0, 0, 0, 0];
  for (let session = 0; session < told.length; session++) {
    const one = told[session]!;
    const heavy = weight[session]!;
    const a = times[AT_ONCE * session]!;
    const b = times[AT_ONCE * session + 1]!;
    const c = times[AT_ONCE * session + 2]!;
    const d = times[AT_ONCE * session + 3]!;
    toldA += a * one;
    toldB += b * one;
    toldC += c * one;
    toldD += d * one;
    wholeA += a * heavy;
    wholeB += b * heavy;
    wholeC += c * heavy;
    wholeD += d * heavy;
  }
  into[at] = wholeA === 0 ? 0 : toldA / wholeA;
  into[at + 1] = wholeB === 0 ? 0 : toldB / wholeB;
  into[at + 2] = wholeC === 0 ? 0 : toldC / wholeC;
  into[at + 3] = wholeD === 0 ? 0 : toldD / wholeD;
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
