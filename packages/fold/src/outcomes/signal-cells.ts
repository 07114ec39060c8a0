import type { OutcomeSignal } from "@plimsoll/protocol/pure";
import { callsOf, type OutcomeCell } from "./cells.ts";

/** Sessions that one figure is made of, at most. */
export const MOST_SESSIONS = 2_000;

type Place = Pick<OutcomeCell, "level" | "share" | "position">;

/** Cells of sessions, column by column: a page reads a hundred thousand of them. */
interface CellColumns {
  /** Number of the session. They are in order. */
  session: Uint32Array;
  level: Uint8Array;
  share: Uint8Array;
  position: Uint8Array;
  /** Calls that could have shown the signal, and how often they did. */
  calls: Float64Array;
  found: Float64Array;
}

/** What some sessions of one harness and model tell of one signal. The first `MOST_SESSIONS` of them count. */
export class SignalCells {
  readonly #sessions = new Map<string, number>();
  #hasCalls = false;
  #count = 0;
  #isInOrder = true;
  #columns = columnsOf(256);

  /** All sessions, those that do not count as well. */
  get size(): number {
    return this.#sessions.size;
  }

  /** How many sessions count. */
  get counted(): number {
    return Math.min(this.size, MOST_SESSIONS);
  }

  /** Whether any call could have shown the signal. */
  get hasCalls(): boolean {
    return this.#hasCalls;
  }

  /** The number of a session, which is added if it is new. */
  session(id: string): number {
    let number = this.#sessions.get(id);
    if (number === undefined) {
      number = this.#sessions.size;
      this.#sessions.set(id, number);
    }
    return number;
  }

  add(session: number, { level, share, position }: Place, calls: number, found: number): void {
    if (calls > 0) this.#hasCalls = true;
    if ((calls === 0 && found === 0) || session >= MOST_SESSIONS) return;
    const index = this.#count;
    if (index === this.#columns.session.length) this.#columns = grown(this.#columns);
    const columns = this.#columns;
    if (index > 0 && columns.session[index - 1]! > session) this.#isInOrder = false;
    columns.session[index] = session;
    columns.level[index] = level;
    columns.share[index] = share;
    columns.position[index] = position;
    columns.calls[index] = calls;
    columns.found[index] = found;
    this.#count += 1;
  }

  /** In the order of their sessions. */
  columns(): CellColumns {
    if (!this.#isInOrder) {
      this.#columns = inOrder(this.#columns, this.#count, this.counted);
      this.#isInOrder = true;
    }
    const { session, level, share, position, calls, found } = this.#columns;
    const count = this.#count;
    return {
      session: session.subarray(0, count),
      level: level.subarray(0, count),
      share: share.subarray(0, count),
      position: position.subarray(0, count),
      calls: calls.subarray(0, count),
      found: found.subarray(0, count),
    };
  }
}

/** What cells tell of one signal. */
export function signalCells(
  sessions: readonly (readonly OutcomeCell[])[],
  signal: OutcomeSignal,
): SignalCells {
  const cells = new SignalCells();
  for (const [index, own] of sessions.entries()) {
    const session = cells.session(String(index));
    for (const cell of own) cells.add(session, cell, callsOf(cell, signal), cell.found[signal]);
  }
  return cells;
}

function columnsOf(length: number): CellColumns {
  return {
    session: new Uint32Array(length),
    level: new Uint8Array(length),
    share: new Uint8Array(length),
    position: new Uint8Array(length),
    calls: new Float64Array(length),
    found: new Float64Array(length),
  };
}

function grown(columns: CellColumns): CellColumns {
  const larger = columnsOf(2 * columns.session.length);
  for (const name of Object.keys(columns) as (keyof CellColumns)[]) larger[name].set(columns[name]);
  return larger;
}

/** Cells of one session stay in their order. */
function inOrder(columns: CellColumns, count: number, sessions: number): CellColumns {
  const next = new Uint32Array(sessions + 1);
  for (let index = 0; index < count; index++) next[columns.session[index]! + 1]! += 1;
  for (let session = 0; session < sessions; session++) next[session + 1]! += next[session]!;
  const sorted = columnsOf(columns.session.length);
  for (let index = 0; index < count; index++) {
    const place = next[columns.session[index]!]!++;
    for (const name of Object.keys(columns) as (keyof CellColumns)[])
      sorted[name][place] = columns[name][index]!;
  }
  return sorted;
}
