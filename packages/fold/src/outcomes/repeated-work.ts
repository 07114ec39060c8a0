import type { BoundaryType } from "@plimsoll/protocol/pure";
import { LEVEL_BANDS } from "./cells.ts";
import { type Interval, intervalOf, resampled, total } from "./resample.ts";

/** Calls on each side of a fall. */
const CALLS = 20;
/** Calls that a side needs to tell anything. */
const LEAST_CALLS = 10;

/** A turn of one agent, in their order. */
export interface WorkTurn {
  /** Epoch ms. */
  at: number;
  /** Context tokens; undefined if they were not counted. */
  level: number | undefined;
  calls: number;
  repeated: number;
}

/** When the level of the agent fell, in their order. */
export interface WorkFall {
  /** Epoch ms. */
  at: number;
  type: BoundaryType;
}

/** Calls before and after falls of one kind and from levels of one band, or at points of that band where nothing fell. */
export interface RepeatedWork {
  /** Undefined where nothing fell. */
  type: BoundaryType | undefined;
  /** Index in `LEVEL_BANDS` of the level before. */
  band: number;
  points: number;
  callsBefore: number;
  repeatedBefore: number;
  callsAfter: number;
  repeatedAfter: number;
}

/**
 * How often calls repeat an earlier one in the 20 calls before and after each fall: what a fall took away is fetched again. Beside it
 * the same at points where nothing fell, because repeats get more with time anyway.
 */
export function repeatedWork(turns: readonly WorkTurn[], falls: readonly WorkFall[]): RepeatedWork[] {
  const sums = new Map<string, RepeatedWork>();
  const places = placesOf(turns, falls);
  const isFall = new Set(places.map(({ turn }) => turn));
  const add = (turn: number, type: BoundaryType | undefined) => {
    const [before, after] = [sideOf(turns, turn - 1, -1, isFall), sideOf(turns, turn, 1, isFall)];
    if (before.calls < LEAST_CALLS || after.calls < LEAST_CALLS) return;
    // Beside a fall there is nothing to compare with.
    if (type === undefined && (before.meetsFall || after.meetsFall)) return;
    const band = LEVEL_BANDS.findLastIndex((from) => (levelBefore(turns, turn) ?? 0) >= from);
    const key = `${type}/${band}`;
    const sum = sums.get(key) ?? emptyWork(type, band);
    sums.set(key, sum);
    sum.points += 1;
    sum.callsBefore += before.calls;
    sum.repeatedBefore += before.repeated;
    sum.callsAfter += after.calls;
    sum.repeatedAfter += after.repeated;
  };
  for (const { turn, type } of places) add(turn, type);
  for (const turn of pointsOf(turns)) if (!isFall.has(turn)) add(turn, undefined);
  return [...sums.values()];
}

const emptyWork = (type: BoundaryType | undefined, band: number): RepeatedWork => ({
  ...{ type, band, points: 0 },
  ...{ callsBefore: 0, repeatedBefore: 0, callsAfter: 0, repeatedAfter: 0 },
});

/** The first turn after each fall. Of several falls before one turn, the last counts. */
function placesOf(turns: readonly WorkTurn[], falls: readonly WorkFall[]) {
  const places = new Map<number, BoundaryType>();
  let turn = 0;
  for (const { at, type } of falls) {
    while (turn < turns.length && turns[turn]!.at < at) turn += 1;
    if (turn > 0 && turn < turns.length) places.set(turn, type);
  }
  return [...places].map(([turn, type]) => ({ turn, type }));
}

interface Side {
  calls: number;
  repeated: number;
  /** Whether another fall is in it, or ends it. */
  meetsFall: boolean;
}

/** The calls from a turn on in one direction, up to the next fall. */
function sideOf(turns: readonly WorkTurn[], from: number, step: 1 | -1, isFall: ReadonlySet<number>): Side {
  const side = { calls: 0, repeated: 0, meetsFall: false };
  for (let turn = from; turn >= 0 && turn < turns.length && side.calls < CALLS; turn += step) {
    if (step === 1 && turn !== from && isFall.has(turn)) return { ...side, meetsFall: true };
    side.calls += turns[turn]!.calls;
    side.repeated += turns[turn]!.repeated;
    if (step === -1 && isFall.has(turn)) return { ...side, meetsFall: true };
  }
  return side;
}

/** Turns at which another 20 calls begin: windows of neighbouring points share nothing but one side. */
function* pointsOf(turns: readonly WorkTurn[]): Generator<number> {
  let calls = 0;
  for (const [turn, { calls: made }] of turns.entries()) {
    if (calls >= CALLS) {
      yield turn;
      calls = 0;
    }
    calls += made;
  }
}

function levelBefore(turns: readonly WorkTurn[], turn: number): number | undefined {
  for (let before = turn - 1; before >= 0; before--) {
    const { level } = turns[before]!;
    if (level !== undefined) return level;
  }
  return undefined;
}

/** How much more is repeated after falls than before them, beyond what is usual where nothing falls. */
export interface LostWork extends Interval {
  falls: number;
  sessions: number;
  /** Repeats per call in the 20 calls before and after. */
  before: number;
  after: number;
  /** By how much it changes where nothing falls, at the same levels. Repeats per call. */
  usualChange: number;
  /** Repeats per call: the change less the usual one. */
  difference: number;
}

/** @param sessions the repeated work of each session; undefined if no fall has calls on both sides */
export function lostWork(sessions: readonly (readonly RepeatedWork[])[]): LostWork | undefined {
  const usual = usualChanges(sessions.flat());
  const terms = { told: new Float64Array(sessions.length), weight: new Float64Array(sessions.length) };
  const used = new Set<number>();
  const sum = emptyWork(undefined, 0);
  let expected = 0;
  for (const [session, own] of sessions.entries())
    for (const work of own) {
      if (work.type === undefined) continue;
      const { callsBefore, repeatedBefore, callsAfter, repeatedAfter, band, points } = work;
      const weight = (callsBefore * callsAfter) / (callsBefore + callsAfter);
      terms.told[session]! += weight * (changeOf(work) - usual(band));
      terms.weight[session]! += weight;
      expected += weight * usual(band);
      used.add(session);
      sum.points += points;
      sum.callsBefore += callsBefore;
      sum.repeatedBefore += repeatedBefore;
      sum.callsAfter += callsAfter;
      sum.repeatedAfter += repeatedAfter;
    }
  if (used.size === 0) return undefined;
  const whole = total(terms.weight);
  const [drawn] = resampled(sessions.length, [terms]);
  return {
    ...{ falls: sum.points, sessions: used.size },
    before: sum.repeatedBefore / sum.callsBefore,
    after: sum.repeatedAfter / sum.callsAfter,
    usualChange: expected / whole,
    difference: total(terms.told) / whole,
    ...intervalOf(drawn!, used.size, 1),
  };
}

const changeOf = (work: RepeatedWork) =>
  work.repeatedAfter / work.callsAfter - work.repeatedBefore / work.callsBefore;

/** The change where nothing fell by the band of the level, or over all bands where a band has no such point. */
function usualChanges(all: readonly RepeatedWork[]): (band: number) => number {
  const sumOf = (works: readonly RepeatedWork[]) => {
    const sum = emptyWork(undefined, 0);
    for (const work of works)
      for (const field of ["points", "callsBefore", "repeatedBefore", "callsAfter", "repeatedAfter"] as const)
        sum[field] += work[field];
    return sum.points === 0 ? undefined : changeOf(sum);
  };
  const placebo = all.filter(({ type }) => type === undefined);
  const everywhere = sumOf(placebo) ?? 0;
  const byBand = LEVEL_BANDS.map((_, band) => sumOf(placebo.filter((work) => work.band === band)));
  return (band) => byBand[band] ?? everywhere;
}
