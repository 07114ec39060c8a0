import type { OutcomeSignal, SplitVerdict } from "@plimsoll/protocol/pure";
import { callsOf, LEVEL_BANDS, type OutcomeCell, POSITION_BANDS, SHARE_BANDS } from "./cells.ts";
import { intervalOf, resampled, type Terms, total } from "./resample.ts";

/** Sessions that one figure is made of, at most. */
export const MOST_SESSIONS = 2_000;

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
 * @param sessions the cells of each session, of one harness and model
 */
export function qualityOf(sessions: readonly (readonly OutcomeCell[])[], signal: OutcomeSignal): Quality {
  const byLevel = placesOf(sessions, signal, ({ level }) => level);
  const byShare = placesOf(sessions, signal, ({ share }) => share - 1);
  const { calls, found, sessions: used } = sumWhere(byLevel, () => true);
  return {
    sessions: used,
    calls,
    rate: rateOf({ calls, found }),
    levels: bandsOf(byLevel, LEVEL_BANDS),
    shares: bandsOf(byShare, SHARE_BANDS),
    levelSplits: splitsOf(byLevel, LEVEL_BANDS),
    shareSplits: splitsOf(byShare, SHARE_BANDS),
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

/** @param bandOf negative where it is unknown */
function placesOf(
  sessions: readonly (readonly OutcomeCell[])[],
  signal: OutcomeSignal,
  bandOf: (cell: OutcomeCell) => number,
): Places {
  const rows: { session: number; band: number; position: number; calls: number; found: number }[] = [];
  for (const [session, cells] of sessions.entries()) {
    const own = new Map<number, (typeof rows)[number]>();
    for (const cell of cells) {
      const [band, calls] = [bandOf(cell), callsOf(cell, signal)];
      if (band < 0 || calls === 0) continue;
      const { position } = cell;
      const key = band * POSITION_BANDS.length + position;
      const row = own.get(key) ?? { session, band, position, calls: 0, found: 0 };
      row.calls += calls;
      row.found += cell.found[signal];
      own.set(key, row);
    }
    rows.push(...own.values());
  }
  return {
    sessions: sessions.length,
    session: Uint32Array.from(rows, ({ session }) => session),
    band: Uint8Array.from(rows, ({ band }) => band),
    position: Uint8Array.from(rows, ({ position }) => position),
    calls: Float64Array.from(rows, ({ calls }) => calls),
    found: Float64Array.from(rows, ({ found }) => found),
  };
}

interface Sum {
  calls: number;
  found: number;
  sessions: number;
}

function sumWhere(places: Places, holds: (place: number) => boolean): Sum {
  const used = new Set<number>();
  let [calls, found] = [0, 0];
  for (let place = 0; place < places.calls.length; place++) {
    if (!holds(place)) continue;
    calls += places.calls[place]!;
    found += places.found[place]!;
    used.add(places.session[place]!);
  }
  return { calls, found, sessions: used.size };
}

const rateOf = ({ calls, found }: Pick<Sum, "calls" | "found">) => (calls === 0 ? undefined : found / calls);

function bandsOf(places: Places, bands: readonly number[]): QualityBand[] {
  const usual = POSITION_BANDS.map(
    (_, position) => rateOf(sumWhere(places, (place) => places.position[place] === position)) ?? 0,
  );
  return bands.map((from, band) => {
    const { calls, found, sessions } = sumWhere(places, (place) => places.band[place] === band);
    let expected = 0;
    for (let place = 0; place < places.calls.length; place++)
      if (places.band[place] === band) expected += places.calls[place]! * usual[places.position[place]!]!;
    return {
      ...{ from, to: bands[band + 1], sessions, calls },
      rate: rateOf({ calls, found }),
      expectedRate: rateOf({ calls, found: expected }),
    };
  });
}

/**
 * The difference at the border between each two bands: least squares over all calls, with a rate of its own for each session and each
 * place. That is the difference between a call above and one below of the same session, after what the place explains is taken off.
 */
function splitsOf(places: Places, bands: readonly number[]): QualitySplit[] {
  const rates = withoutMeans(
    places,
    places.found.map((found, place) => found / places.calls[place]!),
  );
  const borders = bands.slice(1).map((at, index) => {
    const side = Float64Array.from(places.band, (band) => Number(band > index));
    return { at, ...bothSides(places, side), terms: termsOf(places, rates, withoutMeans(places, side)) };
  });
  const drawn = resampled(
    places.sessions,
    borders.map(({ terms }) => terms),
  );
  return borders.flatMap(({ at, sessions, rateBelow, terms: { told, weight } }, border) => {
    const whole = total(weight);
    // Where the place in a session alone tells the side, nothing can be compared.
    if (sessions === 0 || whole < LEAST_WEIGHT) return [];
    return {
      ...{ at, sessions, rateBelow },
      difference: total(told) / whole,
      ...intervalOf(drawn[border]!, sessions, borders.length),
    };
  });
}

/** Calls' worth of difference in sides that place and session do not explain, below which none is stated. */
const LEAST_WEIGHT = 1;

/** How many sessions have calls on both sides, and how often theirs below show the signal. */
function bothSides(places: Places, side: Float64Array): { sessions: number; rateBelow: number } {
  const sides = new Uint8Array(places.sessions);
  for (let place = 0; place < side.length; place++)
    sides[places.session[place]!]! |= side[place] === 1 ? 2 : 1;
  const isOfBoth = (place: number) => sides[places.session[place]!] === 3;
  const below = sumWhere(places, (place) => side[place] === 0 && isOfBoth(place));
  return { sessions: below.sessions, rateBelow: rateOf(below) ?? 0 };
}

/** Rounds of taking means off. Sessions and places are far from balanced, but more rounds hardly change anything. */
const ROUNDS = 10;

/** Values without the weighted mean of their session, and without that of their place in it. */
function withoutMeans({ sessions, session, position, calls }: Places, values: Float64Array): Float64Array {
  const groups = [
    {
      of: position,
      sums: new Float64Array(POSITION_BANDS.length),
      calls: new Float64Array(POSITION_BANDS.length),
    },
    { of: session, sums: new Float64Array(sessions), calls: new Float64Array(sessions) },
  ];
  for (const group of groups)
    for (let place = 0; place < values.length; place++) group.calls[group.of[place]!]! += calls[place]!;
  const left = Float64Array.from(values);
  for (let round = 0; round < ROUNDS; round++)
    for (const { of, sums, calls: whole } of groups) {
      sums.fill(0);
      for (let place = 0; place < left.length; place++) sums[of[place]!]! += calls[place]! * left[place]!;
      for (let place = 0; place < left.length; place++)
        left[place]! -= sums[of[place]!]! / whole[of[place]!]!;
    }
  return left;
}

function termsOf({ sessions, session, calls }: Places, rates: Float64Array, side: Float64Array): Terms {
  const terms = { told: new Float64Array(sessions), weight: new Float64Array(sessions) };
  for (let place = 0; place < side.length; place++) {
    terms.told[session[place]!]! += calls[place]! * rates[place]! * side[place]!;
    terms.weight[session[place]!]! += calls[place]! * side[place]! ** 2;
  }
  return terms;
}
