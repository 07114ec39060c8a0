import { SAME_CALL_MS, type TurnFacts } from "@plimsoll/protocol";
import { type BoundaryRow, markOfRow } from "../store/boundaries.ts";
import { BOUNDARY_ORIGIN } from "../store/codes.ts";
import type { AgentNews, StoredTurn } from "./agent-news.ts";
import type { ArrivedMark } from "./group-events.ts";
import type { StoredStretch, Stretch } from "./read-history.ts";

/** A turn of a stretch, and its row if there is one. */
export interface StretchTurn {
  facts: TurnFacts;
  stored: StoredTurn | undefined;
  receivedAt: number;
}

export interface StretchMark {
  mark: ArrivedMark;
  stored: BoundaryRow | undefined;
}

/** The reported events of a stretch, news included. By turn key and mark id. */
export interface StretchEvents {
  turns: Map<string, StretchTurn>;
  marks: Map<string, StretchMark>;
}

/** The news of an agent, in the places where a refold needs them. */
export class NewsByTime {
  readonly #turns = new Map<string, StretchTurn>();
  readonly #marks = new Map<string, StretchMark>();
  /** Times at which the history changes: where an event is now, and where it was. */
  #times: number[];

  constructor({ newTurns, changedTurns, newMarks, replacedMarks }: AgentNews) {
    for (const { facts, receivedAt } of newTurns) {
      this.#turns.set(facts.key, { facts, receivedAt, stored: undefined });
    }
    for (const { before, after } of changedTurns) {
      this.#turns.set(after.key, { facts: after, receivedAt: receivedAtOf(before), stored: before });
    }
    for (const mark of newMarks) this.#marks.set(mark.facts.id, { mark, stored: undefined });
    for (const { row, after } of replacedMarks) this.#marks.set(after.facts.id, { mark: after, stored: row });
    this.#times = [
      ...[...this.#turns.values()].flatMap(({ facts, stored }) => [facts.at, stored?.row.at ?? facts.at]),
      ...[...this.#marks.values()].flatMap(({ mark, stored }) => [
        mark.facts.at,
        stored?.at ?? mark.facts.at,
      ]),
    ];
  }

  /** The earliest change that is not folded yet; undefined if there is none. Epoch ms. */
  get nextAt(): number | undefined {
    return this.#times.length === 0 ? undefined : Math.min(...this.#times);
  }

  /** Events from here on are folded again with the news: those after them, and those that a turn may repeat. Epoch ms. */
  get reachesAt(): number {
    const at = this.nextAt ?? Number.POSITIVE_INFINITY;
    const isWitnessed = [...this.#turns.values()].some(({ facts }) => facts.provenance !== 0);
    return isWitnessed ? at - SAME_CALL_MS : at;
  }

  /** Marks every change at or before a time as folded. */
  folded(through: number): void {
    this.#times = this.#times.filter((at) => at > through);
  }

  /** The events of a stretch, with the news in their places. */
  merge(stored: StoredStretch, { from, to }: Stretch): StretchEvents {
    const turns: StretchEvents["turns"] = new Map();
    const marks: StretchEvents["marks"] = new Map();
    for (const turn of stored.turns) {
      turns.set(turn.row.key, { facts: turn.reading.report, stored: turn, receivedAt: receivedAtOf(turn) });
    }
    for (const row of stored.marks) {
      if (row.origin !== BOUNDARY_ORIGIN.reported) continue;
      const mark = { ...markOfRow(row), receivedAt: row.receivedAt, arrivals: [] };
      marks.set(row.id, { mark, stored: row });
    }
    for (const [key, turn] of this.#turns) {
      turns.delete(key);
      if (turn.facts.at > from && turn.facts.at <= to) turns.set(key, turn);
    }
    for (const [id, mark] of this.#marks) {
      marks.delete(id);
      if (mark.mark.facts.at > from && mark.mark.facts.at <= to) marks.set(id, mark);
    }
    return { turns, marks };
  }
}

function receivedAtOf({ row }: StoredTurn): number {
  return row.at + row.delay * 1_000;
}
