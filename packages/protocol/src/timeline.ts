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

/**
 * Puts an agent's events in order. The result depends only on the set of events, never on how they arrived:
 * a turn without a window index is in the window counted by the boundaries before it, and a mark stands after
 * every turn of its window that is not later than it.
 */
export function arrange(turns: readonly TurnFacts[], marks: readonly MarkFacts[], openersBefore = 0): Item[] {
  const openers = marks
    .filter((mark) => opensWindow(mark.type))
    .sort((a, b) => a.at - b.at || compareText(a.id, b.id));
  const turnItems = turns
    .map((turn) => ({ turn, window: turn.sentWindow ?? openersBefore + countBefore(openers, turn.at) }))
    .sort((a, b) => comparePositions(positionOf(a.turn, a.window), positionOf(b.turn, b.window)));
  const markItems = marks
    .map((mark) => ({
      mark,
      window: mark.sentWindow ?? openersBefore + countBefore(openers, mark.at, mark.id),
    }))
    .sort((a, b) => a.window - b.window || a.mark.at - b.mark.at || compareText(a.mark.id, b.mark.id));

  const items: Item[] = [];
  let next = 0;
  for (const item of turnItems) {
    while (next < markItems.length && precedes(markItems[next]!, item)) items.push(markItems[next++]!);
    items.push(item);
  }
  items.push(...markItems.slice(next));
  return items;
}

function precedes(
  mark: { mark: MarkFacts; window: number },
  turn: { turn: TurnFacts; window: number },
): boolean {
  return mark.window < turn.window || (mark.window === turn.window && mark.mark.at < turn.turn.at);
}

/** Openers strictly before a time; at that very time, those whose id sorts before `id`. */
function countBefore(openers: readonly MarkFacts[], at: number, id?: string): number {
  let low = 0;
  let high = openers.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const opener = openers[middle]!;
    const before = opener.at < at || (opener.at === at && id !== undefined && compareText(opener.id, id) < 0);
    if (before) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Code-unit order: the same on every machine, which a locale's order is not. */
export function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
