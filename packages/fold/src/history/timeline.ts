import { type MarkFacts, opensWindow } from "./mark.ts";
import type { TurnFacts } from "./turn.ts";

/** One event of an agent with the window it belongs to. `seq` orders a turn within its window. */
export type Item = TurnItem | MarkItem | ResultItem;

interface MarkItem {
  turn?: undefined;
  result?: undefined;
  mark: MarkFacts;
  window: number;
}

/** The end of a tool call. It has the place of a mark. */
interface ResultItem {
  turn?: undefined;
  result: TurnFacts;
  mark?: undefined;
  window: number;
}

export interface TurnItem {
  turn: TurnFacts;
  mark?: undefined;
  result?: undefined;
  window: number;
  seq: number;
}

/** The position of a turn among the turns of its agent. */
export interface TurnPosition {
  window: number;
  seq: number;
  at: number;
  key: string;
}

export function positionOf({ turn, window, seq }: TurnItem): TurnPosition {
  return { window, seq, at: turn.at, key: turn.key };
}

/** Turns sort by window, then sequence, then time; the key breaks ties. */
export function comparePositions(a: TurnPosition, b: TurnPosition): number {
  return a.window - b.window || a.seq - b.seq || a.at - b.at || compareText(a.key, b.key);
}

/** What the window of an event without an index is counted from. */
export interface Numbering {
  /** Boundaries so far that open a window. */
  openers: number;
  /** The latest turn whose sender gave an index: by how much that index differs from the count of openers. */
  anchor: Anchor | undefined;
  /** Time of the latest turn whose window was counted. */
  countedAt: number | undefined;
  /** Sequence numbers in the latest window; undefined before the first turn. */
  sequence: Sequence | undefined;
}

/** What the place of a turn without a sequence number depends on. */
export interface Sequence {
  window: number;
  /** The highest sequence number; undefined while no turn of the window has one. */
  top: number | undefined;
  /** Time of the latest turn without a sequence number. */
  unnumberedAt: number | undefined;
}

/** The sequence number of a turn that has none and that no numbered turn precedes. */
const UNNUMBERED = -1;

interface Anchor {
  at: number;
  offset: number;
}

export const NO_NUMBERING: Numbering = {
  openers: 0,
  anchor: undefined,
  countedAt: undefined,
  sequence: undefined,
};

export interface Timeline {
  items: Item[];
  numbering: Numbering;
}

/**
 * Sorts an agent's events. The result depends only on the set of events, never on their order of arrival.
 * - An event without a window index belongs to the window of the latest turn that has one, plus the boundaries in
 *   between that open a window. Without any index, windows are counted from 0.
 * - A turn without a sequence number takes the highest sequence number that its window has reached by its time.
 * - A mark follows the last turn of its window that is not later than it. Numbered turns may have the times of several clocks.
 * - The result of a tool call has the place of a mark, and moves nothing.
 */
export function arrange(
  turnsAndResults: readonly TurnFacts[],
  marks: readonly MarkFacts[],
  past: Numbering = NO_NUMBERING,
): Timeline {
  const isResult = ({ isToolResult }: TurnFacts) => isToolResult;
  const results = turnsAndResults.some(isResult) ? turnsAndResults.filter(isResult) : [];
  const turns = results.length === 0 ? turnsAndResults : turnsAndResults.filter((turn) => !turn.isToolResult);
  const openers = marks
    .filter((mark) => opensWindow(mark.type))
    .sort((a, b) => a.at - b.at || compareText(a.id, b.id));
  const count = (at: number, id?: string) => past.openers + countBefore(openers, at, id);

  const anchors: Anchor[] = past.anchor === undefined ? [] : [past.anchor];
  let { countedAt } = past;
  for (const { at, sentWindow } of turns) {
    if (sentWindow !== undefined) anchors.push({ at, offset: sentWindow - count(at) });
    else if (countedAt === undefined || at > countedAt) countedAt = at;
  }
  anchors.sort((a, b) => a.at - b.at || a.offset - b.offset);
  const offset = (at: number) =>
    anchors[lowest(anchors.length, (index) => anchors[index]!.at > at) - 1]?.offset ?? 0;

  const placed = turns.map((turn) => ({
    turn,
    window: turn.sentWindow ?? offset(turn.at) + count(turn.at),
    seq: UNNUMBERED,
  }));
  const sequence = orderTurns(placed, past.sequence);
  const turnItems = placed;
  const windowAt = (sentWindow: number | undefined, at: number, id: string) =>
    sentWindow ?? offset(at) + count(at, id);
  const others: PlacedMoment[] = [];
  for (const mark of marks) {
    const { at, id } = mark;
    const window = windowAt(mark.sentWindow, at, id);
    others.push({ at, id, window, item: { mark, window } });
  }
  for (const result of results) {
    const { at, key: id } = result;
    const window = windowAt(result.sentWindow, at, id);
    others.push({ at, id, window, item: { result, window } });
  }
  others.sort((a, b) => a.window - b.window || a.at - b.at || compareText(a.id, b.id));

  const items: Item[] = [];
  let next = 0;
  const times = others.length === 0 ? [] : earliestFrom(turnItems);
  for (const [place, item] of turnItems.entries()) {
    while (next < others.length && precedes(others[next]!, item.window, times[place]!))
      items.push(others[next++]!.item);
    items.push(item);
  }
  while (next < others.length) items.push(others[next++]!.item);
  return {
    items,
    numbering: { openers: past.openers + openers.length, anchor: anchors.at(-1), countedAt, sequence },
  };
}

/** A mark or a result, and what its place depends on. */
interface PlacedMoment {
  at: number;
  id: string;
  window: number;
  item: MarkItem | ResultItem;
}

/** Sorts in place, unless the items are in order already, as they mostly are: a sort makes copies even then. */
function inOrder<T>(items: T[], compare: (a: T, b: T) => number): T[] {
  for (let index = 1; index < items.length; index++) {
    if (compare(items[index - 1]!, items[index]!) > 0) return items.sort(compare);
  }
  return items;
}

/** What the order of a turn in its window depends on. */
type OrderedFacts = Pick<TurnFacts, "key" | "at" | "seq">;

/** A turn and its window. `orderTurns` sets `seq`, which orders it there. */
export interface PlacedTurn<Turn extends OrderedFacts = TurnFacts> {
  turn: Turn;
  window: number;
  seq: number;
}

/**
 * Sorts turns of one agent in place, by window, sequence number and time. A turn without a sequence number takes the
 * highest that its window has reached by its time. Returns the sequence of the latest window.
 */
export function orderTurns<Turn extends OrderedFacts>(
  turns: PlacedTurn<Turn>[],
  past?: Sequence,
): Sequence | undefined {
  const sequence = numberTurns(turns, past);
  inOrder(turns, compareTurns);
  return sequence;
}

/** Sets `seq` of the turns. Returns the sequence of the latest window. */
function numberTurns<Turn extends OrderedFacts>(
  turns: PlacedTurn<Turn>[],
  past: Sequence | undefined,
): Sequence | undefined {
  const [first] = turns;
  if (first === undefined) return past;
  const byWindow = new Map<number, PlacedTurn<Turn>[]>();
  if (turns.every(({ window }) => window === first.window)) byWindow.set(first.window, turns);
  else {
    for (const placed of turns) {
      const same = byWindow.get(placed.window);
      if (same === undefined) byWindow.set(placed.window, [placed]);
      else same.push(placed);
    }
  }
  let last = past;
  for (const [window, members] of byWindow) {
    const before = past?.window === window ? past : undefined;
    const after = numberWindow(window, members, before);
    if (last === undefined || window >= last.window) last = after;
  }
  return last;
}

function numberWindow(
  window: number,
  members: readonly PlacedTurn<OrderedFacts>[],
  past: Sequence | undefined,
): Sequence {
  let top = past?.top;
  let unnumberedAt = past?.unnumberedAt;
  for (const { turn } of members) {
    if (turn.seq === undefined) unnumberedAt = Math.max(unnumberedAt ?? turn.at, turn.at);
  }
  const isNumbered = ({ turn }: PlacedTurn<OrderedFacts>) => turn.seq !== undefined;
  if (!members.some(isNumbered)) {
    for (const placed of members) placed.seq = top ?? UNNUMBERED;
    return { window, top, unnumberedAt };
  }
  // Most windows have only one kind of turn, and then nothing depends on time.
  for (const placed of members.every(isNumbered) ? members : members.toSorted(comparePlaces)) {
    const { seq } = placed.turn;
    if (seq !== undefined) top = Math.max(top ?? UNNUMBERED, seq);
    placed.seq = seq ?? top ?? UNNUMBERED;
  }
  return { window, top, unnumberedAt };
}

/** By time; of turns at the same time, those with a sequence number come first. */
function comparePlaces(a: PlacedTurn<OrderedFacts>, b: PlacedTurn<OrderedFacts>): number {
  return a.turn.at - b.turn.at || Number(a.turn.seq === undefined) - Number(b.turn.seq === undefined);
}

/** The same order as `comparePositions`, without allocating a position for each turn. */
function compareTurns(a: PlacedTurn<OrderedFacts>, b: PlacedTurn<OrderedFacts>): number {
  return a.window - b.window || a.seq - b.seq || a.turn.at - b.turn.at || compareText(a.turn.key, b.turn.key);
}

/** For each turn, the earliest time from it to the end of its window. */
function earliestFrom(turns: readonly TurnItem[]): number[] {
  const times = turns.map(({ turn }) => turn.at);
  for (let place = times.length - 2; place >= 0; place--) {
    if (turns[place]!.window === turns[place + 1]!.window)
      times[place] = Math.min(times[place]!, times[place + 1]!);
  }
  return times;
}

/** @param earliest time from a turn to the end of its window */
function precedes({ at, window }: PlacedMoment, ofTurn: number, earliest: number): boolean {
  return window < ofTurn || (window === ofTurn && at < earliest);
}

/** Openers strictly before a time; at that very time, those whose id sorts before `id`. */
function countBefore(openers: readonly MarkFacts[], at: number, id?: string): number {
  return lowest(openers.length, (index) => {
    const opener = openers[index]!;
    if (opener.at !== at) return opener.at > at;
    return id === undefined || compareText(opener.id, id) >= 0;
  });
}

/** The first index below `length` that is past what is sought, in a list where all later ones are too. */
function lowest(length: number, isPast: (index: number) => boolean): number {
  let low = 0;
  let high = length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (isPast(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** Code-unit order: the same on every machine, which a locale's order is not. */
export function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
