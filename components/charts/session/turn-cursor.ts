import { useSyncExternalStore } from "react";

/** Who moved the cursor. */
export type CursorSource = "chart" | "log";

interface CursorPlace {
  /** Number of a turn of the selected agent. */
  turn: number;
  by: CursorSource;
}

/**
 * The turn that the pointer or the focus is on, shared by the chart and the log. It is not React state, so that a
 * moving pointer renders what marks the turn, and nothing else.
 */
export class TurnCursor {
  #place: CursorPlace | undefined;
  readonly #followers = new Set<() => void>();

  get place(): CursorPlace | undefined {
    return this.#place;
  }

  /** Undefined removes the cursor. */
  move(turn: number | undefined, by: CursorSource): void {
    if (this.#place?.turn === turn && (turn === undefined || this.#place?.by === by)) return;
    this.#place = turn === undefined ? undefined : { turn, by };
    for (const follow of this.#followers) follow();
  }

  readonly follow = (follower: () => void): (() => void) => {
    this.#followers.add(follower);
    return () => void this.#followers.delete(follower);
  };
}

export function useCursorPlace(cursor: TurnCursor): CursorPlace | undefined {
  return useSyncExternalStore(
    cursor.follow,
    () => cursor.place,
    () => undefined,
  );
}

/** Whether the cursor is on this turn. */
export function useIsAtCursor(cursor: TurnCursor, turn: number): boolean {
  return useSyncExternalStore(
    cursor.follow,
    () => cursor.place?.turn === turn,
    () => false,
  );
}
