import { orderTurns } from "@plimsoll/fold";
import { levelOf, type TurnRow } from "./turns.ts";

/** A turn among those of its agent. */
export interface NumberedTurn {
  turn: TurnRow;
  /** From 1. */
  number: number;
  /** Its level minus the level before it, in tokens; undefined for the first level and for a turn without a level. */
  change: number | undefined;
}

/** What comes before some turns of an agent. */
export interface TurnsBefore {
  turnsBefore: number;
  /** The last level, in tokens. */
  levelBefore: number | undefined;
}

const NOTHING_BEFORE: TurnsBefore = { turnsBefore: 0, levelBefore: undefined };

/** Turns of one agent in the order of the protocol's timeline, numbered. All others are before or after all of them. */
export function numberTurns(
  turns: readonly TurnRow[],
  { turnsBefore, levelBefore }: TurnsBefore = NOTHING_BEFORE,
): NumberedTurn[] {
  const placed = turns.map((turn) => ({ turn, window: turn.windowIndex, seq: 0 }));
  orderTurns(placed);
  let before = levelBefore;
  return placed.map(({ turn }, place) => {
    const level = levelOf(turn);
    const change = level === undefined || before === undefined ? undefined : level - before;
    before = level ?? before;
    return { turn, number: turnsBefore + place + 1, change };
  });
}
