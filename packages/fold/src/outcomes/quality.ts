import type { SplitVerdict } from "@plimsoll/protocol/pure";
import { LEVEL_BANDS, POSITION_BANDS, SHARE_BANDS } from "./cells.ts";
import { intervalOf, resampled, type Terms, total } from "./resample.ts";
import type { SignalCells } from "./signal-cells.ts";

/** How often a signal showed, in calls of some levels or shares of the line. */
export interface QualityBand {
  /** Tokens or a share of the line, included. */
  from: number;
  /** Not included; undefined for the last. */
  to: number | undefined;
  sessions: number;
  calls: number;
  /** Signals per call. Undefined without calls. */
  rate: number | undefined;
  /** What it would be if only the place in the session counted. */
  expectedRate: number | undefined;
}

/** How much more often a signal shows from a level on than below it, within one session and at one place in it. */
export interface QualitySplit {
  /** Tokens or a share of the line. */
  at: number;
  /** Sessions with calls on both sides. */
  sessions: number;
  /** Signals per call of these sessions below it. */
  rateBelow: number;
  /** Signals per call. Positive if there are more above. */
  difference: number;
  /** Ends of the interval that holds the difference in 95 of 100 resamples of the sessions. */
  low: number;
  high: number;
  verdict: SplitVerdict;
}

export interface Quality {
  sessions: number;
  calls: number;
  rate: number | undefined;
  levels: QualityBand[];
  shares: QualityBand[];
  levelSplits: QualitySplit[];
  shareSplits: QualitySplit[];
}

/**
 * What a signal has to do with how full the window is. Hard tasks have long sessions and more failures, so sessions are never compared
 * with each other: each is compared with itself, and calls with those at the same place in other sessions.
 * @param cells of one harness and model
 */
export function qualityOf(cells: SignalCells): Quality {
  const { level, share } = cells.columns();
  const byLevel = placesOf(cells, level, 0);
  const byShare = placesOf(cells, share, 1);
  const { calls, found, sessions: used } = sumBy(byLevel, () => 0, 1)[0]!;
  const [levelSplits = [], shareSplits = []] = splitsOf([
    { places: byLevel, bands: LEVEL_BANDS },
    { places: byShare, bands: SHARE_BANDS },
  ]);
  return {
    sessions: used,
    calls,
    rate: rateOf({ calls, found }),
    levels: bandsOf(byLevel, LEVEL_BANDS),
    shares: bandsOf(byShare, SHARE_BANDS),
    ...{ levelSplits, shareSplits },
  };
}

/** The split that a sentence is about: the one that certainly makes the largest difference. Undefined if none does. */
export function clearestSplit(splits: readonly QualitySplit[]): QualitySplit | undefined {
  const rising = splits.filter(({ verdict }) => verdict === "rises");
  return rising.sort((a, b) => b.low - a.low || a.at - b.at)[0];
}

/** Calls of one session in one band and at one place, column by column: this is read hundreds of times. */
interface Places {
  /** Number of sessions; those without calls are counted. */
  sessions: number;
  session: Uint32Array;
  band: Uint8Array;
  position: Uint8Array;
  calls: Float64Array;
  found: Float64Array;
}

const MOST_BANDS = Math.max(LEVEL_BANDS.length, SHARE_BANDS.length);

/**
 * @param bands of each cell
 * @param first of the bands; those below it are unknown
 */
function placesOf(cells: SignalCells, bands: Uint8Array, first: number): Places {
  const { session, position, calls, found } = cells.columns();
  const most = session.length;
  const places = {
    session: new Uint32Array(most),
    band: new Uint8Array(most),
    position: new Uint8Array(most),
    calls: new Float64Array(most),
    found: new Float64Array(most),
  };
  /** One more than the place of the session's calls, by band and position. */
  const own = new Uint32Array(MOST_BANDS * POSITION_BANDS.length);
  let count = 0;
  let last = -1;
  for (let cell = 0; cell < most; cell++) {
    if (session[cell] !== last) {
      own.fill(0);
      last = session[cell]!;
    }
    const band = bands[cell]! - first;
    if (band < 0 || calls[cell] === 0) continue;
    const key = band * POSITION_BANDS.length + position[cell]!;
    let place = own[key]! - 1;
    if (place < 0) {
      place = count++;
      own[key] = count;
      places.session[place] = last;
      places.band[place] = band;
      places.position[place] = position[cell]!;
    }
    places.calls[place]! += calls[cell]!;
    places.found[place]! += found[cell]!;
  }
  return {
    sessions: cells.counted,
    session: places.session.subarray(0, count),
    band: places.band.subarray(0, count),
    position: places.position.subarray(0, count),
    calls: places.calls.subarray(0, count),
    found: places.found.subarray(0, count),
  };
}

interface Sum {
  calls: number;
  found: number;
  sessions: number;
}

/** Sums by group. Places stand in the order of their sessions. */
function sumBy(places: Places, groupOf: (place: number) => number, groups: number): Sum[] {
  const sums = Array.from({ length: groups }, (): Sum => ({ calls: 0, found: 0, sessions: 0 }));
  const last = new Int32Array(groups).fill(-1);
  for (let place = 0; place < places.calls.length; place++) {
    const group = groupOf(place);
    const sum = sums[group]!;
    sum.calls += places.calls[place]!;
    sum.found += places.found[place]!;
    if (last[group] !== places.session[place]) sum.sessions += 1;
    last[group] = places.session[place]!;
  }
  return sums;
}

const rateOf = ({ calls, found }: Pick<Sum, "calls" | "found">) => (calls === 0 ? undefined : found / calls);

function bandsOf(places: Places, bands: readonly number[]): QualityBand[] {
  const { band, position } = places;
  const usual = sumBy(places, (place) => position[place]!, POSITION_BANDS.length).map(
    (sum) => rateOf(sum) ?? 0,
  );
  const expected = new Float64Array(bands.length);
  for (let place = 0; place < band.length; place++)
    expected[band[place]!]! += places.calls[place]! * usual[position[place]!]!;
  const sums = sumBy(places, (place) => band[place]!, bands.length);
  return bands.map((from, index) => {
    const { calls, found, sessions } = sums[index]!;
    return {
      ...{ from, to: bands[index + 1], sessions, calls },
      rate: rateOf({ calls, found }),
      expectedRate: rateOf({ calls, found: expected[index]! }),
    };
  });
}

/**
 * The difference at the border between each two bands: least squares over all calls, with a rate of its own for each session and each
 * place. That is the difference between a call above and one below of the same session, after what the place explains is taken off.
 */
function splitsOf(all: readonly { places: Places; bands: readonly number[] }[]): QualitySplit[][] {
  const borders = all.map(({ places, bands }) => bordersOf(places, bands));
  const drawn = resampled(
    all[0]!.places.sessions,
    borders.flat().map(({ terms }) => terms),
  );
  let next = 0;
  return borders.map((own) =>
    own.map(({ at, sessions, rateBelow, tries, terms: { told, weight } }) => ({
      ...{ at, sessions, rateBelow },
      difference: total(told) / total(weight),
      ...intervalOf(drawn[next++]!, sessions, tries),
    })),
  );
}

function bordersOf(places: Places, bands: readonly number[]) {
  const rates = new Float64Array(places.calls.length);
  for (let place = 0; place < rates.length; place++)
    rates[place] = places.found[place]! / places.calls[place]!;
  const effects = effectsOf(places);
  withoutMeans(places, effects, rates);
  const { band } = places;
  const borders = bands.slice(1);
  // One for all borders: there may be a hundred thousand places.
  const side = new Float64Array(rates.length);
  return borders.flatMap((at, index) => {
    for (let place = 0; place < side.length; place++) side[place] = band[place]! > index ? 1 : 0;
    const both = bothSides(places, side);
    if (both.sessions === 0) return [];
    withoutMeans(places, effects, side);
    const terms = termsOf(places, rates, side);
    // Where the place in a session alone tells the side, nothing can be compared.
    return total(terms.weight) < LEAST_WEIGHT ? [] : [{ at, ...both, tries: borders.length, terms }];
  });
}

/** Calls' worth of difference in sides that place and session do not explain, below which none is stated. */
const LEAST_WEIGHT = 1;

/** How many sessions have calls on both sides, and how often theirs below show the signal. */
function bothSides(places: Places, side: Float64Array): { sessions: number; rateBelow: number } {
  const sides = new Uint8Array(places.sessions);
  for (let place = 0; place < side.length; place++)
    sides[places.session[place]!]! |= side[place] === 1 ? 2 : 1;
  const below = { calls: 0, found: 0, sessions: 0 };
  let last = -1;
  for (let place = 0; place < side.length; place++) {
    const session = places.session[place]!;
    if (side[place] === 1 || sides[session] !== 3) continue;
    below.calls += places.calls[place]!;
    below.found += places.found[place]!;
    if (session !== last) below.sessions += 1;
    last = session;
  }
  return { sessions: below.sessions, rateBelow: rateOf(below) ?? 0 };
}

/** Calls by place in a session, by session, and, by two places, those that sessions share between them. */
interface Effects {
  byPosition: Float64Array;
  bySession: Float64Array;
  shared: Float64Array;
}

const POSITIONS = POSITION_BANDS.length;

function effectsOf({ sessions, session, position, calls }: Places): Effects {
  const byPosition = new Float64Array(POSITIONS);
  const bySession = new Float64Array(sessions);
  const shared = new Float64Array(POSITIONS * POSITIONS);
  const own = new Float64Array(POSITIONS);
  let place = 0;
  while (place < calls.length) {
    const at = session[place]!;
    own.fill(0);
    // Places stand in the order of their sessions.
    for (; place < calls.length && session[place] === at; place++) {
      own[position[place]!]! += calls[place]!;
      bySession[at]! += calls[place]!;
    }
    for (let one = 0; one < POSITIONS; one++) {
      byPosition[one]! += own[one]!;
      if (own[one] === 0) continue;
      for (let other = 0; other < POSITIONS; other++)
        shared[one * POSITIONS + other]! += (own[one]! * own[other]!) / bySession[at]!;
    }
  }
  return { byPosition, bySession, shared };
}

/** Rounds, at most, and a change in one below which more of them change nothing that is shown. */
const ROUNDS = 1_000;
const SMALL_CHANGE = 1e-9;

/**
 * Takes off values what their session and their place in it explain, by least squares. The equations of all sessions reduce to one for
 * each place, so only these few are solved in rounds.
 */
function withoutMeans(
  { session, position, calls }: Places,
  { byPosition, bySession, shared }: Effects,
  values: Float64Array,
): void {
  const means = new Float64Array(bySession.length);
  for (let place = 0; place < values.length; place++)
    means[session[place]!]! += calls[place]! * values[place]!;
  for (let at = 0; at < means.length; at++) means[at]! /= bySession[at] || 1;
  const beyond = new Float64Array(POSITIONS);
  for (let place = 0; place < values.length; place++)
    beyond[position[place]!]! += calls[place]! * (values[place]! - means[session[place]!]!);
  const effect = new Float64Array(POSITIONS);
  let largest = Number.POSITIVE_INFINITY;
  for (let round = 0; round < ROUNDS && largest > SMALL_CHANGE; round++) {
    largest = 0;
    for (let one = 0; one < POSITIONS; one++) {
      let sum = beyond[one]!;
      for (let other = 0; other < POSITIONS; other++)
        sum += shared[one * POSITIONS + other]! * effect[other]!;
      const next = sum / (byPosition[one] || 1);
      largest = Math.max(largest, Math.abs(next - effect[one]!));
      effect[one] = next;
    }
  }
  const explained = new Float64Array(bySession.length);
  for (let place = 0; place < values.length; place++)
    explained[session[place]!]! += calls[place]! * effect[position[place]!]!;
  for (let at = 0; at < means.length; at++) means[at]! -= explained[at]! / (bySession[at] || 1);
  for (let place = 0; place < values.length; place++)
    values[place] = values[place]! - effect[position[place]!]! - means[session[place]!]!;
}

function termsOf({ sessions, session, calls }: Places, rates: Float64Array, side: Float64Array): Terms {
  const terms = { told: new Float64Array(sessions), weight: new Float64Array(sessions) };
  for (let place = 0; place < side.length; place++) {
    terms.told[session[place]!]! += calls[place]! * rates[place]! * side[place]!;
    terms.weight[session[place]!]! += calls[place]! * side[place]! ** 2;
  }
  return terms;
}
