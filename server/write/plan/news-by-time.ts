import { callReach, type TurnFacts } from "@plimsoll/fold";
import { type BoundaryRow, markOfRow } from "../../db/tables/boundaries.ts";
import { BOUNDARY_ORIGIN } from "../../db/tables/codes.ts";
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
  /** Times at which the history changes: where an event is now, and where it was. The latest first. */
  readonly #times: number[];
  /** How far back a turn of the news may repeat another one, ms. */
  readonly #reach: number;
  readonly #turnsByTime: readonly StretchTurn[];
  readonly #marksByTime: readonly StretchMark[];

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
    ].sort((a, b) => b - a);
    this.#turnsByTime = [...this.#turns.values()].sort((a, b) => a.facts.at - b.facts.at);
    this.#marksByTime = [...this.#marks.values()].sort((a, b) => a.mark.facts.at - b.mark.facts.at);
    this.#reach = [...this.#turns.values()].reduce(
      (most, { facts }) =>
        facts.provenance === 0 || facts.isToolResult ? most : Math.max(most, callReach(facts)),
      0,
    );
  }

  /** The earliest change that is not folded yet; undefined if there is none. Epoch ms. */
  get nextAt(): number | undefined {
    return this.#times.at(-1);
  }

  /** Events from here on are folded again with the news: those after them, and those that a turn may repeat. Epoch ms. */
  get reachesAt(): number {
    return (this.nextAt ?? Number.POSITIVE_INFINITY) - this.#reach;
  }

  /** Marks every change at or before a time as folded. */
  folded(through: number): void {
    while (this.#times.length > 0 && this.#times.at(-1)! <= through) this.#times.pop();
  }

  /** The events of a stretch, with the news in their places. */
  merge(stored: StoredStretch, { from, to }: Stretch): StretchEvents {
    const turns: StretchEvents["turns"] = new Map();
    const marks: StretchEvents["marks"] = new Map();
    for (const turn of stored.turns) {
      const { key } = turn.row;
      if (this.#turns.has(key)) continue;
      turns.set(key, { facts: turn.reading.report, stored: turn, receivedAt: receivedAtOf(turn) });
    }
    for (const row of stored.marks) {
      if (row.origin !== BOUNDARY_ORIGIN.reported || this.#marks.has(row.id)) continue;
      const mark = { ...markOfRow(row), receivedAt: row.receivedAt, arrivals: [] };
      marks.set(row.id, { mark, stored: row });
    }
    for (const turn of between(this.#turnsByTime, from, to, ({ facts }) => facts.at))
      turns.set(turn.facts.key, turn);
    for (const one of between(this.#marksByTime, from, to, ({ mark }) => mark.facts.at))
      marks.set(one.mark.facts.id, one);
    return { turns, marks };
  }
}

function receivedAtOf({ row }: StoredTurn): number {
  return row.at + row.delay * 1_000;
}

/** The part of a list in order of time that is after `from` and not after `to`. */
function between<One>(
  list: readonly One[],
  from: number,
  to: number,
  timeOf: (one: One) => number,
): readonly One[] {
  const endOf = (at: number) => {
    let [low, high] = [0, list.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (timeOf(list[middle]!) > at) high = middle;
      else low = middle + 1;
    }
    return low;
  };
  return list.slice(endOf(from), endOf(to));
}
