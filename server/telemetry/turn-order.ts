import { orderTurns } from "@plimsoll/protocol";
import { levelOf, type TurnRow } from "../store/turns.ts";

/** A turn among those of its agent. */
export interface NumberedTurn {
  turn: TurnRow;
  /** From 1. */
  number: number;
  /** Its level minus the level before it, in tokens; undefined for the first level and for a turn without a level. */
  change: number | undefined;
}

/** Turns of one agent in the order of the protocol's timeline, numbered. */
export function numberTurns(turns: readonly TurnRow[]): NumberedTurn[] {
  const placed = turns.map((turn) => ({ turn, window: turn.windowIndex, seq: 0 }));
  orderTurns(placed);
  let before: number | undefined;
  return placed.map(({ turn }, place) => {
    const level = levelOf(turn);
    const change = level === undefined || before === undefined ? undefined : level - before;
    before = level ?? before;
    return { turn, number: place + 1, change };
  });
}
