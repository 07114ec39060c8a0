import type { TurnSpan } from "../../turn-span.ts";

/** What of the brush is dragged: a new selection, the selection as a whole, or one of its ends. */
export type BrushPart = "new" | "body" | "from" | "to";

/** Fewer turns are a click, not a selection. */
export const LEAST_TURNS = 3;

const clamp = (value: number, least: number, most: number) => Math.min(most, Math.max(least, value));

/**
 * The selection after dragging from one turn to another; null selects all turns.
 * @param all the first and the last turn
 */
export function brushed(
  part: BrushPart,
  before: TurnSpan | null,
  { from: start, to: end }: TurnSpan,
  all: TurnSpan,
): TurnSpan | null {
  const span = before ?? all;
  const least = Math.min(LEAST_TURNS, all.to - all.from + 1) - 1;
  const [pressed, released] = [start, end].map((turn) => clamp(Math.round(turn), all.from, all.to)) as [
    number,
    number,
  ];
  const dragged = ((): TurnSpan => {
    switch (part) {
      case "new":
        return { from: Math.min(pressed, released), to: Math.max(pressed, released) };
      case "body": {
        const shift = clamp(Math.round(end - start), all.from - span.from, all.to - span.to);
        return { from: span.from + shift, to: span.to + shift };
      }
      case "from":
        return { from: Math.min(released, span.to - least), to: span.to };
      case "to":
        return { from: span.from, to: Math.max(released, span.from + least) };
    }
  })();
  if (dragged.to - dragged.from < least) return before;
  return dragged.from <= all.from && dragged.to >= all.to ? null : dragged;
}
