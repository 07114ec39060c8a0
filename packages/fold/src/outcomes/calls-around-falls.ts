import type { BoundaryType } from "@plimsoll/protocol/pure";
import { LEVEL_BANDS } from "./cells.ts";
import { type Interval, intervalOf, resampled, total } from "./resample.ts";

/** Calls on each side of a fall. */
const CALLS = 20;
/** Calls that a side needs to tell anything. */
const LEAST_CALLS = 10;

/** A turn of one agent, in their order. */
export interface SignalTurn {
  /** Epoch ms. */
  at: number;
  /** Context tokens; undefined if they were not counted. */
  level: number | undefined;
  /** Calls that could show a signal, and those that do. */
  calls: number;
  found: number;
}

/** When the level of the agent fell, in their order. */
export interface AgentFall {
  /** Epoch ms. */
  at: number;
  type: BoundaryType;
  /** Whether rules were put back after it. */
  reinjected: boolean;
}

/** Calls before and after falls of one kind and from levels of one band, or at points of that band where nothing fell. */
export interface AroundFalls {
  /** Undefined where nothing fell. */
  type: BoundaryType | undefined;
  reinjected: boolean;
  /** Index in `LEVEL_BANDS` of the level before. */
  band: number;
  points: number;
  callsBefore: number;
  foundBefore: number;
  callsAfter: number;
  foundAfter: number;
}

/**
 * How often calls show a signal in the 20 calls before and after each fall, such as a repeat of an earlier call: what a fall took away is
 * fetched again. Beside it the same at points where nothing fell, because most signals get more with time anyway.
 */
export function callsAroundFalls(turns: readonly SignalTurn[], falls: readonly AgentFall[]): AroundFalls[] {
  const sums = new Map<string, AroundFalls>();
  const places = placesOf(turns, falls);
  const isFall = new Set(places.map(({ turn }) => turn));
  const add = (turn: number, fall: Omit<AgentFall, "at"> | undefined) => {
    const [before, after] = [sideOf(turns, turn - 1, -1, isFall), sideOf(turns, turn, 1, isFall)];
    if (before.calls < LEAST_CALLS || after.calls < LEAST_CALLS) return;
    // Beside a fall there is nothing to compare with.
    if (fall === undefined && (before.meetsFall || after.meetsFall)) return;
    const band = LEVEL_BANDS.findLastIndex((from) => (levelBefore(turns, turn) ?? 0) >= from);
    const key = `${fall?.type}/${fall?.reinjected}/${band}`;
    const sum = sums.get(key) ?? noCalls(fall, band);
    sums.set(key, sum);
    sum.points += 1;
    sum.callsBefore += before.calls;
    sum.foundBefore += before.found;
    sum.callsAfter += after.calls;
    sum.foundAfter += after.found;
  };
  for (const { turn, fall } of places) add(turn, fall);
  for (const turn of pointsOf(turns)) if (!isFall.has(turn)) add(turn, undefined);
  return [...sums.values()];
}

const noCalls = (fall: Omit<AgentFall, "at"> | undefined, band: number): AroundFalls => ({
  ...{ type: fall?.type, reinjected: fall?.reinjected ?? false, band, points: 0 },
  ...{ callsBefore: 0, foundBefore: 0, callsAfter: 0, foundAfter: 0 },
});

/** How far a hook's event may be from the boundary that another source reports, ms. */
const SAME_FALL_MS = 60_000;

/** Tells which falls rules were put back after. @param times of that, epoch ms */
export const withReinjections = (
  falls: readonly Omit<AgentFall, "reinjected">[],
  times: readonly number[],
): AgentFall[] =>
  falls.map((fall) => ({
    ...fall,
    reinjected: fall.type === "compacted" && times.some((time) => Math.abs(time - fall.at) <= SAME_FALL_MS),
  }));

/** The first turn after each fall. Of several falls before one turn, the last counts. */
function placesOf(turns: readonly SignalTurn[], falls: readonly AgentFall[]) {
  const places = new Map<number, AgentFall>();
  let turn = 0;
  for (const fall of falls) {
    while (turn < turns.length && turns[turn]!.at < fall.at) turn += 1;
    if (turn > 0 && turn < turns.length) places.set(turn, fall);
  }
  return [...places].map(([turn, fall]) => ({ turn, fall }));
}

interface Side {
  calls: number;
  found: number;
  /** Whether another fall is in it, or ends it. */
  meetsFall: boolean;
}

/** The calls from a turn on in one direction, up to the next fall. */
function sideOf(turns: readonly SignalTurn[], from: number, step: 1 | -1, isFall: ReadonlySet<number>): Side {
  const side = { calls: 0, found: 0, meetsFall: false };
  for (let turn = from; turn >= 0 && turn < turns.length && side.calls < CALLS; turn += step) {
    if (step === 1 && turn !== from && isFall.has(turn)) return { ...side, meetsFall: true };
    side.calls += turns[turn]!.calls;
    side.found += turns[turn]!.found;
    if (step === -1 && isFall.has(turn)) return { ...side, meetsFall: true };
  }
  return side;
}

/** Turns at which another 20 calls begin: windows of neighbouring points share nothing but one side. */
function* pointsOf(turns: readonly SignalTurn[]): Generator<number> {
  let calls = 0;
  for (const [turn, { calls: made }] of turns.entries()) {
    if (calls >= CALLS) {
      yield turn;
      calls = 0;
    }
    calls += made;
  }
}

function levelBefore(turns: readonly SignalTurn[], turn: number): number | undefined {
  for (let before = turn - 1; before >= 0; before--) {
    const { level } = turns[before]!;
    if (level !== undefined) return level;
  }
  return undefined;
}

/** How much more often calls show a signal after falls than before them, beyond what is usual where nothing falls. */
export interface ChangeAtFalls extends Interval {
  falls: number;
  sessions: number;
  /** Signals per call in the 20 calls before and after. */
  before: number;
  after: number;
  /** By how much it changes where nothing falls, at the same levels. Signals per call. */
  usualChange: number;
  /** Signals per call: the change less the usual one. */
  difference: number;
}

/**
 * @param sessions the calls of each session
 * @param isMeant which falls count
 * @returns undefined if none of them has calls on both sides
 */
export function changeAtFalls(
  sessions: readonly (readonly AroundFalls[])[],
  isMeant: (fall: Pick<AroundFalls, "type" | "reinjected">) => boolean = () => true,
): ChangeAtFalls | undefined {
  const usual = usualChanges(sessions);
  const terms = { told: new Float64Array(sessions.length), weight: new Float64Array(sessions.length) };
  const used = new Set<number>();
  const sum = noCalls(undefined, 0);
  let expected = 0;
  for (const [session, own] of sessions.entries())
    for (const around of own) {
      if (around.type === undefined || !isMeant(around)) continue;
      const { callsBefore, callsAfter, band } = around;
      const weight = (callsBefore * callsAfter) / (callsBefore + callsAfter);
      terms.told[session]! += weight * (changeOf(around) - usual(band));
      terms.weight[session]! += weight;
      expected += weight * usual(band);
      used.add(session);
      addCalls(sum, around);
    }
  if (used.size === 0) return undefined;
  const whole = total(terms.weight);
  const [drawn] = resampled(sessions.length, [terms]);
  return {
    ...{ falls: sum.points, sessions: used.size },
    before: sum.foundBefore / sum.callsBefore,
    after: sum.foundAfter / sum.callsAfter,
    usualChange: expected / whole,
    difference: total(terms.told) / whole,
    ...intervalOf(drawn!, used.size, 1),
  };
}

function addCalls(sum: AroundFalls, around: AroundFalls): void {
  sum.points += around.points;
  sum.callsBefore += around.callsBefore;
  sum.foundBefore += around.foundBefore;
  sum.callsAfter += around.callsAfter;
  sum.foundAfter += around.foundAfter;
}

const changeOf = ({ foundBefore, callsBefore, foundAfter, callsAfter }: AroundFalls) =>
  foundAfter / callsAfter - foundBefore / callsBefore;

/** The change where nothing fell by the band of the level, or over all bands where a band has no such point. */
function usualChanges(sessions: readonly (readonly AroundFalls[])[]): (band: number) => number {
  const everywhere = noCalls(undefined, 0);
  const bands = LEVEL_BANDS.map((_, band) => noCalls(undefined, band));
  for (const own of sessions)
    for (const around of own)
      if (around.type === undefined) {
        addCalls(everywhere, around);
        addCalls(bands[around.band]!, around);
      }
  const changes = bands.map((sum) => (sum.points === 0 ? undefined : changeOf(sum)));
  const overall = everywhere.points === 0 ? 0 : changeOf(everywhere);
  return (band) => changes[band] ?? overall;
}
