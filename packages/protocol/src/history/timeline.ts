import type { MarkFacts } from "./mark.ts";
import { opensWindow } from "./mark.ts";
import type { TurnFacts } from "./turn.ts";

/** One event of an agent with the window it belongs to. */
export type Item =
  | { turn: TurnFacts; mark?: undefined; window: number }
  | { turn?: undefined; mark: MarkFacts; window: number };

/** Where a turn stands among the turns of its agent. */
export interface TurnPosition {
  window: number;
  seq: number;
  at: number;
  key: string;
}

export function positionOf(turn: TurnFacts, window: number): TurnPosition {
  return { window, seq: turn.seq ?? 0, at: turn.at, key: turn.key };
}

/** Turns stand by window, then sequence, then time; the key settles what is left. */
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
}

interface Anchor {
  at: number;
  offset: number;
}

export const NO_NUMBERING: Numbering = { openers: 0, anchor: undefined, countedAt: undefined };

export interface Timeline {
  items: Item[];
  numbering: Numbering;
}

/**
 * Puts an agent's events in order. The result depends only on the set of events, never on how they arrived. An event
 * without a window index is in the window of the latest turn with one, plus the boundaries between them that open a
 * window; boundaries are counted from 0 where no sender gave an index. A mark stands before the turns of its window
 * that are later than it.
 */
export function arrange(
  turns: readonly TurnFacts[],
  marks: readonly MarkFacts[],
  past: Numbering = NO_NUMBERING,
): Timeline {
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

  const turnItems = turns
    .map((turn) => ({ turn, window: turn.sentWindow ?? offset(turn.at) + count(turn.at) }))
    .sort(compareTurns);
  const markItems = marks
    .map((mark) => ({ mark, window: mark.sentWindow ?? offset(mark.at) + count(mark.at, mark.id) }))
    .sort((a, b) => a.window - b.window || a.mark.at - b.mark.at || compareText(a.mark.id, b.mark.id));

  const items: Item[] = [];
  let next = 0;
  for (const item of turnItems) {
    while (next < markItems.length && precedes(markItems[next]!, item)) items.push(markItems[next++]!);
    items.push(item);
  }
  items.push(...markItems.slice(next));
  return {
    items,
    numbering: { openers: past.openers + openers.length, anchor: anchors.at(-1), countedAt },
  };
}

/** As `comparePositions` does, without making a position of each. */
function compareTurns(
  a: { turn: TurnFacts; window: number },
  b: { turn: TurnFacts; window: number },
): number {
  return (
    a.window - b.window ||
    (a.turn.seq ?? 0) - (b.turn.seq ?? 0) ||
    a.turn.at - b.turn.at ||
    compareText(a.turn.key, b.turn.key)
  );
}

function precedes(
  mark: { mark: MarkFacts; window: number },
  turn: { turn: TurnFacts; window: number },
): boolean {
  return mark.window < turn.window || (mark.window === turn.window && mark.mark.at < turn.turn.at);
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
