import { contextTokens } from "@plimsoll/fold";
import { tokenizerScale } from "@plimsoll/guard/measure";
import type { Survived } from "@plimsoll/protocol/pure";
import { latestLoss, survivals } from "./compaction-loss.ts";
import { ValuesByTime } from "./dated.ts";
import type { HistoryTurn, RecordedMark } from "./history.ts";
import {
  type AgentContents,
  type ContentItem,
  type Filling,
  isWritten,
  partsAtTurns,
  type WindowContents,
  windowContents,
} from "./transcript-parts.ts";

/** What a line of a recording adds to the context of its agent. */
interface TextLine {
  /** Epoch ms. */
  at: number;
  items: readonly ContentItem[];
  /** The turn or step that wrote it, or `NEXT_TURN`. Undefined for what the model did not write, and for what is sent again. */
  turn?: string | undefined;
  /** Set once the harness no longer sends all of it. */
  isCleared?: boolean;
}

/** The next turn that was counted: a harness may count a call after it wrote its answer. */
export const NEXT_TURN = "";

/** Lines that are kept beside summaries, over all of these. */
export const MOST_KEPT = 100_000;

interface CountedTurns {
  turns: ReadonlyMap<string, HistoryTurn>;
  marks: ReadonlyMap<string, RecordedMark>;
  modelOf: (turn: HistoryTurn) => string;
}

/** What the lines of one agent add to its context. The result depends on the set of lines, not on their order. */
export class HistoryTexts {
  readonly #lines = new Map<string, TextLine & { tokens: number }>();
  /** When steps ended that are no turns, by their id. */
  readonly #steps = new Map<string, number>();
  /** When the context was replaced as a whole without a boundary. */
  readonly #resets = new Set<number>();
  /** Lines that stay in the context beside what a boundary left, by its time. */
  readonly #kept = new Map<number, readonly string[]>();
  #keptLines = 0;
  #isOnPath: ((id: string, at: number) => boolean) | undefined;
  /** When something left the context that the recording does not name. */
  readonly #losses = new Set<number>();
  readonly #survived = new Map<string, Survived>();
  /** Whether a turn is counted when its tools have run. */
  readonly #countsTools: boolean;

  constructor({ countsTools = false } = {}) {
    this.#countsTools = countsTools;
  }

  get isEmpty(): boolean {
    return this.#lines.size === 0;
  }

  /** A line that is written again has grown, or was cleared. */
  add(id: string, { isCleared = false, ...line }: TextLine): void {
    const tokens = line.items.reduce((sum, item) => sum + item.tokens, 0);
    if (tokens === 0) return;
    const known = this.#lines.get(id);
    const at = Math.min(line.at, known?.at ?? line.at);
    const isNewer =
      known === undefined || (known.isCleared === isCleared ? tokens > known.tokens : isCleared);
    this.#lines.set(id, isNewer ? { ...line, isCleared, tokens, at } : { ...known, at });
  }

  endStep(id: string, at: number): void {
    this.#steps.set(id, at);
  }

  replace(at: number): void {
    this.#resets.add(at);
  }

  /** Of what is kept again and again, the first `MOST_KEPT` lines count. */
  keep(at: number, lines: readonly string[]): void {
    const all = this.#keptLines + lines.length - (this.#kept.get(at)?.length ?? 0);
    if (all > MOST_KEPT) return;
    this.#keptLines = all;
    this.#kept.set(at, lines);
  }

  /** Leaves out what is on another branch of the conversation. */
  onlyOn(isOnPath: (id: string, at: number) => boolean): void {
    this.#isOnPath = isOnPath;
  }

  /**
   * Something left the context that the recording does not name. What is in it is known again when all of it was replaced.
   * @param at undefined if the recording does not say when
   */
  lose(at = Number.POSITIVE_INFINITY): void {
    this.#losses.add(at);
  }

  /** What each turn was sent, what the latest window holds, and what survived the compactions. Undefined without texts. */
  reading(counted: CountedTurns) {
    if (this.isEmpty) return undefined;
    const filling = this.#filling(counted);
    const isKnown = this.#knownAt(filling);
    const held = windowContents(filling);
    return {
      parts: partsAtTurns({ ...filling, turns: filling.turns.filter(({ at }) => isKnown(at)) }),
      held: held !== undefined && isKnown(held.at) ? held : undefined,
      survived: survivals(filling, this.#survived),
    };
  }

  contents(
    counted: CountedTurns,
    { session, agent }: Pick<AgentContents, "session" | "agent">,
  ): AgentContents | undefined {
    const filling = this.#filling(counted);
    const window = windowContents(filling);
    const last = window && [...counted.turns.values()].find(({ at }) => at === window.at);
    if (window === undefined || last === undefined || !this.#knownAt(filling)(window.at)) return undefined;
    const model = counted.modelOf(last);
    const found = { session, agent, model, loss: latestLoss(filling), ...window };
    return this.#countsTools ? { ...found, since: this.#sinceCounted(window, counted, model) } : found;
  }

  /** No count has the answers of calls that began since. */
  #sinceCounted({ since, at: from }: WindowContents, counted: CountedTurns, model: string) {
    if (since === undefined) return undefined;
    const begun = new Set<string>();
    let written = 0;
    for (const { turn, at, items } of this.#lines.values()) {
      if (turn === undefined || turn === NEXT_TURN || at < from || counted.turns.has(turn)) continue;
      begun.add(turn);
      for (const item of items) if (isWritten(item)) written += item.tokens * tokenizerScale(model);
    }
    const output = Math.ceil(written);
    return { answer: Math.max(0, since.answer - output), added: since.added + output, calls: begun.size };
  }

  /** Whether it is known what the context held at a time. */
  #knownAt({ resets }: Filling): (at: number) => boolean {
    if (this.#losses.has(Number.POSITIVE_INFINITY)) return () => false;
    const lost = new ValuesByTime([...this.#losses].map((at) => ({ at, value: at })));
    const replaced = new ValuesByTime(resets.map(({ at }) => ({ at, value: at })));
    return (at) => (lost.at(at) ?? Number.NEGATIVE_INFINITY) < (replaced.at(at) ?? 0);
  }

  #filling({ turns, marks, modelOf }: CountedTurns): Filling {
    const counted = [...turns.values()].filter(({ isCompaction }) => isCompaction !== true);
    const times = counted.map(({ at }) => at).sort((a, b) => a - b);
    const own = [...this.#lines].filter(([id, { at }]) => this.#isOnPath?.(id, at) ?? true);
    const lines = own
      .map(([, line]) => line)
      .sort((a, b) => a.at - b.at)
      .map(this.#placed(turns, times));
    const kept = [...this.#kept].flatMap(([at, ids]) => {
      const again = ids.flatMap((id) => this.#lines.get(id)?.items ?? []);
      return again.length === 0 ? [] : [{ at, items: again }];
    });
    const calledAt = new Map<string, number>();
    // A call may be sent again later.
    for (const { at, items } of lines)
      for (const { kind, call } of items)
        if (kind === "tool_call" && call !== undefined)
          calledAt.set(call, Math.min(at, calledAt.get(call) ?? at));
    // A tool may end before the answer that called it is counted.
    const notBefore = ({ kind, call }: ContentItem) =>
      kind === "tool_result" ? (calledAt.get(call ?? "") ?? 0) : 0;
    const falls = new Set(
      [...marks.values()].flatMap(({ id, at, event }) =>
        event.type === "masked" || this.#isOnPath?.(id, at) === false ? [] : [at],
      ),
    );
    return {
      turns: counted.map((turn) => ({
        ...{ key: turn.id, at: turn.at, level: contextTokens(turn.usage) ?? 0 },
        scale: tokenizerScale(modelOf(turn)),
      })),
      lines: [
        ...lines.map(({ at, items }) => ({
          at: items.reduce((latest, item) => Math.max(latest, notBefore(item)), at),
          items,
        })),
        ...kept,
      ],
      resets: [
        ...[...this.#resets].filter((at) => !falls.has(at)).map((at) => ({ at, isRepeated: true as const })),
        ...[...falls].map((at) => ({ at })),
      ],
    };
  }

  /** What a turn wrote is no part of its own prompt. @param times of turns, in order; lines come in order too */
  #placed(turns: ReadonlyMap<string, HistoryTurn>, times: readonly number[]) {
    let next = 0;
    return ({ at, items, turn }: TextLine): TextLine => {
      while (next < times.length && times[next]! < at) next += 1;
      if (turn === undefined) return { at, items };
      const own = turn === NEXT_TURN ? times[next] : (turns.get(turn)?.at ?? this.#steps.get(turn));
      return { at: own ?? at, items };
    };
  }
}
