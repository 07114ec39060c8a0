import { levelOf, type TurnRow } from "../store/turns.ts";

/** A turn among those of its agent. */
export interface NumberedTurn {
  turn: TurnRow;
  /** From 1. */
  number: number;
  /** Its level minus the level before it, in tokens; undefined for the first level and for a turn without a level. */
  change: number | undefined;
}

/** The place of a turn that no sequence number of its window precedes. */
const BEFORE_ALL = -1;

/**
 * Turns of one agent in order: by window, sequence number and time; the key breaks ties. A turn without a sequence
 * number takes the highest that its window has reached by its time, as in the protocol's timeline.
 */
export function numberTurns(turns: readonly TurnRow[]): NumberedTurn[] {
  const places = placesOf(turns);
  const order = indexesOf(turns).sort((a, b) => {
    const one = turns[a]!;
    const other = turns[b]!;
    return (
      one.windowIndex - other.windowIndex ||
      places[a]! - places[b]! ||
      one.at - other.at ||
      (one.key < other.key ? -1 : 1)
    );
  });
  let before: number | undefined;
  return order.map((index, place) => {
    const turn = turns[index]!;
    const level = levelOf(turn);
    const change = level === undefined || before === undefined ? undefined : level - before;
    before = level ?? before;
    return { turn, number: place + 1, change };
  });
}

/** The sequence number that orders each turn in its window. */
function placesOf(turns: readonly TurnRow[]): Float64Array {
  const places = Float64Array.from(turns, ({ seq }) => seq ?? BEFORE_ALL);
  const windows = windowsOfBothKinds(turns);
  if (windows.size === 0) return places;
  const byTime = indexesOf(turns)
    .filter((index) => windows.has(turns[index]!.windowIndex))
    .sort((a, b) => turns[a]!.at - turns[b]!.at || numberedFirst(turns[a]!) - numberedFirst(turns[b]!));
  const reached = new Map<number, number>();
  for (const index of byTime) {
    const { seq, windowIndex } = turns[index]!;
    const highest = reached.get(windowIndex) ?? BEFORE_ALL;
    if (seq === undefined) places[index] = highest;
    else reached.set(windowIndex, Math.max(highest, seq));
  }
  return places;
}

/** A sequence number also counts for the other turns of the same time. */
function numberedFirst({ seq }: TurnRow): number {
  return seq === undefined ? 1 : 0;
}

/** The windows in which some turns have a sequence number and others have none. */
function windowsOfBothKinds(turns: readonly TurnRow[]): Set<number> {
  const numbered = new Set<number>();
  const unnumbered = new Set<number>();
  for (const { seq, windowIndex } of turns) (seq === undefined ? unnumbered : numbered).add(windowIndex);
  return new Set([...numbered].filter((window) => unnumbered.has(window)));
}

function indexesOf(turns: readonly TurnRow[]): number[] {
  return Array.from(turns, (_, index) => index);
}
