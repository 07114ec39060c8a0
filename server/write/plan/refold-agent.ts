import {
  type AgentState,
  EMPTY_STATE,
  EMPTY_SUMMARY,
  type FoldResult,
  foldSegments,
  joinSummaries,
  mayCut,
  type Segment,
  type Segments,
  type Summary,
} from "@plimsoll/fold";
import { EMPTY_TALLY, type Tally } from "../../db/tables/agents.ts";
import { readingOfRow } from "../../db/tables/boundaries.ts";
import { packState, packSummary, unpackState, unpackSummary } from "../../db/tables/packed-state.ts";
import type { WindowRow } from "../../db/tables/windows.ts";
import {
  type AgentChanges,
  type AgentIdentity,
  type AgentOptions,
  addRows,
  countBoundary,
  countTurns,
  type KnownAgent,
  knownAgent,
  noRows,
  type RowChanges,
  tallyOf,
  windowRow,
} from "./agent-changes.ts";
import type { AgentNews } from "./agent-news.ts";
import { compareHistory } from "./compare-history.ts";
import { inSlices } from "./in-slices.ts";
import { NewsByTime, type StretchEvents } from "./news-by-time.ts";
import type { History, StoredStretch } from "./read-history.ts";
import { runSinceCut, type Tail } from "./tail.ts";

/** How far a history is folded again. */
export type RefoldExtent = "until_unchanged" | "to_the_end";

export interface RefoldInput {
  history: History;
  agent: AgentIdentity & { harness: string };
  known: KnownAgent;
  news: AgentNews;
  options: AgentOptions;
  extent: RefoldExtent;
  /** With `to_the_end`: the cut up to which the history is folded again already. Epoch ms; undefined for the start. */
  doneTo?: number | undefined;
  /** Least turns that the last cut leaves after it; 0 by default. */
  keep?: number;
}

/**
 * Folds an agent's history again from the last cut before its news. Stops at the first cut whose state is the same as
 * before, because everything after it is unchanged, and once it has folded `refoldEvents`. Reads one segment at a time.
 */
export async function refoldAgent(input: RefoldInput): Promise<Refolded> {
  const impossible = new Set<number>();
  // Twice as many cuts each time: an event that belongs first would read the history once for each of them.
  for (let back = 1; ; back *= 2) {
    const result = await new Refold(input, impossible, back).run();
    if (result.outcome === "done") return result;
    // Some events come before these cuts after all: fold again without them.
    for (const endsAt of result.cuts) impossible.add(endsAt);
  }
}

export interface Refolded {
  changes: AgentChanges;
  /** The events since the last cut if the fold read them. Its reach is 0 if it did not. */
  tail: Tail;
  /** The cut from which everything is still to be folded again. Epoch ms; undefined if nothing is. */
  doneTo: number | undefined;
}

type RefoldResult = ({ outcome: "done" } & Refolded) | { outcome: "cuts_impossible"; cuts: number[] };

/** A cut, and the summary of the segment that ends there. */
interface SegmentCut {
  endsAt: number;
  summary: Summary;
}

/** A segment folded again. */
interface FoldedSegment {
  closed: Segment[];
  /** The events after the last cut; undefined unless the segment reaches the end of the history. */
  open: FoldResult | undefined;
  /** Index of the cut that ended it before; the number of cuts for the open segment. */
  through: number;
  events: StretchEvents;
  /** Whether the fold may stop: the state at the end, and every crossing's origin, is as before. */
  unchanged: boolean;
}

class Refold {
  readonly #input: RefoldInput;
  readonly #impossible: ReadonlySet<number>;
  /** How many cuts are left out if one is impossible. */
  readonly #back: number;
  readonly #news: NewsByTime;
  readonly #rows = noRows();
  /** From when on events are folded again because of the news. Epoch ms. */
  readonly #lateFrom: number;
  #cuts: SegmentCut[] = [];
  #tally: Tally;
  /** What is stored of the segments folded so far. */
  #stored = EMPTY_TALLY;
  /** Turns and marks folded so far. */
  #folded = 0;
  #doneTo: number | undefined;
  /** Stored turns that the news come before. */
  #overtaken = 0;
  #end: { state: AgentState; open: Summary } | undefined;
  /** The events that were folded last, up to the end of the history; undefined if the fold stopped early. */
  #last: { from: AgentState; stored: StoredStretch; rows: RowChanges; folded: Segments } | undefined;

  constructor(input: RefoldInput, impossible: ReadonlySet<number>, back: number) {
    this.#input = input;
    this.#impossible = impossible;
    this.#back = back;
    this.#news = new NewsByTime(input.news);
    this.#lateFrom = this.#news.reachesAt;
    this.#tally = tallyOf(input.known.row);
  }

  async run(): Promise<RefoldResult> {
    await this.#readCuts();
    let index = this.#start();
    let state = await this.#stateAt(index);
    for (;;) {
      const folded = await this.#foldAfter(index, state);
      if (folded === "not_after") {
        const cuts = this.#cuts.slice(Math.max(0, index + 1 - this.#back), index + 1);
        return { outcome: "cuts_impossible", cuts: cuts.map(({ endsAt }) => endsAt) };
      }
      const last = this.#replaceCuts(index, folded);
      if (folded.open !== undefined) {
        this.#end = { state: folded.open.state, open: folded.open.summary };
        break;
      }
      const reached = folded.closed.at(-1)!.result.state;
      if (!(folded.unchanged && this.#mayStop())) {
        if (this.#folded >= this.#input.options.refoldEvents) this.#doneTo ??= this.#cuts[last]!.endsAt;
        if (this.#doneTo === undefined) {
          index = last;
          state = reached;
          continue;
        }
      }
      // What comes between is unchanged, or folded again later.
      const next = this.#nextCut();
      if (next === undefined) break;
      index = next;
      state = index === last ? reached : await this.#stateAt(index);
    }
    const changes = await this.#finish();
    return { outcome: "done", changes, tail: this.#tail(), doneTo: this.#doneTo };
  }

  /** Index of the cut to go on from, if some segments are left out; undefined if nothing is left to do. */
  #nextCut(): number | undefined {
    if (this.#news.nextAt !== undefined) return this.#cutBefore(this.#news.nextAt);
    // An agent whose state was dropped gets one, so that new events can continue it.
    return this.#input.known.stored === undefined ? this.#cuts.length - 1 : undefined;
  }

  async #readCuts(): Promise<void> {
    for (const { endsAt, summary } of await this.#input.history.cuts()) {
      if (this.#impossible.has(endsAt)) this.#rows.segments.deletes.push(endsAt);
      else this.#cuts.push({ endsAt, summary: unpackSummary(summary) });
    }
  }

  #start(): number {
    const { extent, doneTo } = this.#input;
    if (extent === "to_the_end")
      return doneTo === undefined ? -1 : this.#cuts.findLastIndex(({ endsAt }) => endsAt <= doneTo);
    const at = Math.min(this.#news.nextAt ?? Number.POSITIVE_INFINITY, ...this.#impossible);
    return this.#cutBefore(at);
  }

  /** Whether the end of the history is known without folding up to it. */
  #mayStop(): boolean {
    return this.#input.extent === "until_unchanged" && this.#input.known.stored !== undefined;
  }

  /** Index of the last cut before a time; -1 for the start of the history. */
  #cutBefore(at: number): number {
    return this.#cuts.findLastIndex(({ endsAt }) => endsAt < at);
  }

  async #stateAt(index: number): Promise<AgentState> {
    const cut = this.#cuts[index];
    return cut === undefined ? EMPTY_STATE : unpackState(await this.#input.history.state(cut.endsAt));
  }

  /** Folds the segment after a cut, and the next ones too while the cut between them is impossible. */
  async #foldAfter(index: number, state: AgentState): Promise<FoldedSegment | "not_after"> {
    const { history, options } = this.#input;
    const from = this.#cuts[index]?.endsAt ?? Number.NEGATIVE_INFINITY;
    for (let through = index + 1; ; through++) {
      const to = this.#cuts[through]?.endsAt ?? Number.POSITIVE_INFINITY;
      const atEnd = to === Number.POSITIVE_INFINITY;
      const stored = await history.stretch({ from, to });
      const events = this.#news.merge(stored, { from, to });
      // Late events make a segment longer; it is cut again when it has doubled.
      const size = atEnd ? options.segmentTurns : 2 * options.segmentTurns;
      const keep = atEnd ? this.#input.keep : 0;
      const sizes = { size, openTurns: 0, openMarks: 0, keep };
      const folded = await inSlices(foldSegments(state, factsOf(events), options.fold, sizes));
      if (folded === undefined) return "not_after";
      if (!atEnd && !mayCut(folded.open.state)) continue;
      // A cut made by the size may fall on the old one: then nothing is between them.
      const cutAtEnd = folded.closed.at(-1)?.endsAt === to;
      const closed =
        atEnd || cutAtEnd ? folded.closed : [...folded.closed, { endsAt: to, result: folded.open }];
      const results = [...folded.closed.map(({ result }) => result), folded.open];
      this.#stored = countStored(this.#stored, stored);
      this.#folded += events.turns.size + events.marks.size;
      const { rows, tally, originChanged } = compareHistory(
        state,
        stored,
        events,
        results,
        this.#tally,
        this.#place(),
      );
      this.#tally = tally;
      this.#overtaken += stored.turns.filter(({ row }) => row.at >= this.#lateFrom).length;
      addRows(this.#rows, rows);
      if (atEnd) this.#last = { from: state, stored, rows, folded };
      this.#news.folded(to);
      const sameState = !atEnd && packState(folded.open.state) === (await history.state(to));
      return {
        closed,
        open: atEnd ? folded.open : undefined,
        through,
        events,
        unchanged: sameState && !originChanged,
      };
    }
  }

  #tail(): Tail {
    const reach = this.#end === undefined ? 0 : this.#overtaken;
    // The next steps change what a tail would add to.
    if (this.#last === undefined || this.#doneTo !== undefined) return { runs: [], reach };
    const { from, stored, rows, folded } = this.#last;
    const { windows, ...rest } = joinSummaries(EMPTY_SUMMARY, ...this.#cuts.map(({ summary }) => summary));
    const before = {
      totals: { ...rest, windows: windows.length },
      stored: {
        state: folded.closed.at(-1)?.result.state ?? from,
        window: windows.at(-1),
        open: EMPTY_SUMMARY,
      },
    };
    return { runs: [runSinceCut(before, stored, rows, folded)], reach };
  }

  #place() {
    const { agent, known, options } = this.#input;
    const { id: agentId, sessionId, receivedAt } = agent;
    return { agentId, sessionId, receivedAt, number: known.row.number, modelId: options.modelId };
  }

  /** Puts the new cuts in the place of the old ones. Returns the index of the last new cut. */
  #replaceCuts(index: number, { closed, through }: FoldedSegment): number {
    const { row } = this.#input.known;
    const gone = this.#cuts.slice(index + 1, through + 1);
    const kept = new Set(closed.map(({ endsAt }) => endsAt));
    for (const { endsAt } of gone) if (!kept.has(endsAt)) this.#rows.segments.deletes.push(endsAt);
    for (const { endsAt, result } of closed) {
      const state = packState(result.state);
      this.#rows.segments.upserts.push({
        agent: row.number,
        endsAt,
        state,
        summary: packSummary(result.summary),
      });
    }
    const fresh = closed.map(({ endsAt, result }) => ({ endsAt, summary: result.summary }));
    this.#cuts.splice(index + 1, gone.length, ...fresh);
    return index + fresh.length;
  }

  #isWhole(): boolean {
    const { extent, doneTo } = this.#input;
    return extent === "to_the_end" && doneTo === undefined && this.#doneTo === undefined;
  }

  /** The tally with what is stored in the place of what the row says, so that a wrong count does not survive. */
  #recounted(): Tally {
    const tally = { ...this.#tally };
    const said = tallyOf(this.#input.known.row);
    for (const field of Object.keys(tally) as (keyof Tally)[])
      tally[field] += this.#stored[field] - said[field];
    return tally;
  }

  async #finish(): Promise<AgentChanges> {
    const { agent, known, options, history } = this.#input;
    const { state, open } = this.#end ?? known.stored!;
    const whole = joinSummaries(...this.#cuts.map(({ summary }) => summary), open);
    const window = whole.windows.at(-1);
    const left = new Map((await history.windows()).map((row) => [row.index, row]));
    for (const over of whole.windows.slice(0, -1)) {
      const stored = left.get(over.index);
      const row = windowRow(agent.id, over);
      if (stored === undefined || !sameWindow(stored, row)) this.#rows.windows.upserts.push(row);
      left.delete(over.index);
    }
    this.#rows.windows.deletes.push(...left.keys());
    const totals = { ...whole, windows: whole.windows.length };
    const after = {
      stored: { state, window, open },
      totals,
      tally: this.#isWhole() ? this.#recounted() : this.#tally,
    };
    return {
      harness: agent.harness,
      before: known.row,
      after: knownAgent(agent, known, after, options),
      rows: this.#rows,
      run: undefined,
    };
  }
}

/** The tally after counting what is stored of a stretch. */
function countStored(tally: Tally, { turns, marks, crossings }: StoredStretch): Tally {
  const ofTurns = countTurns(tally, { added: turns.map(({ reading }) => reading), replaced: [] });
  const counted = marks.reduce((sum, row) => countBoundary(sum, readingOfRow(row), 1), ofTurns);
  const warnings = crossings.filter(({ up, threshold }) => up && threshold === "warning").length;
  return { ...counted, warnings: counted.warnings + warnings };
}

function factsOf({ turns, marks }: StretchEvents) {
  return {
    turns: [...turns.values()].map(({ facts }) => facts),
    marks: [...marks.values()].map(({ mark }) => mark.facts),
  };
}

/** The database keeps shares as four-byte floats. */
function sameWindow(a: WindowRow, b: WindowRow): boolean {
  const share = ({ peakUtilization }: WindowRow) => peakUtilization && Math.fround(peakUtilization);
  return (
    a.firstAt === b.firstAt &&
    a.lastAt === b.lastAt &&
    a.turns === b.turns &&
    a.firstTokens === b.firstTokens &&
    a.lastTokens === b.lastTokens &&
    a.peakTokens === b.peakTokens &&
    share(a) === share(b) &&
    a.windowTokens === b.windowTokens
  );
}
