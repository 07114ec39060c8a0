import {
  EMPTY_SUMMARY,
  finish,
  foldSegments,
  joinSummaries,
  latestEventAt,
  MARKS_FOR_TURN,
  mayCut,
  type Segments,
  type Summary,
  type TurnReading,
} from "@plimsoll/fold";
import { packState, packSummary, type StoredState } from "../../db/tables/packed-state.ts";
import type { SegmentRow } from "../../db/tables/segments.ts";
import type { BlockStretch } from "../../db/tables/turn-blocks.ts";
import {
  type AgentChanges,
  type AgentIdentity,
  type AgentOptions,
  type AgentTotals,
  type KnownAgent,
  knownAgent,
  type RowChanges,
  tallyOf,
  totalsOf,
  windowRow,
} from "./agent-changes.ts";
import type { AgentNews, StoredEvents, StoredTurn } from "./agent-news.ts";
import { compareHistory } from "./compare-history.ts";
import { firstAtOf, joinTotals } from "./extend-agent.ts";
import { NewsByTime } from "./news-by-time.ts";
import type { StoredStretch } from "./read-history.ts";

/** An agent at some point of its history. */
interface TailPoint {
  totals: AgentTotals;
  stored: StoredState;
}

/** Some events in a row, and the agent before them. */
interface TailRun {
  before: TailPoint;
  stored: StoredStretch;
  /** Of the run's events alone. */
  summary: Summary;
  /** Windows that ended in the run. */
  ended: readonly number[];
}

/** The latest events of an agent in memory: an event that is a little late needs no read. */
export interface Tail {
  /** The oldest first. */
  runs: readonly TailRun[];
  /** How many stored turns the latest late events came before. */
  reach: number;
}

/** Most turns that a cut leaves after it, whatever the reach. */
const MOST_KEPT_TURNS = 1_024;
/** Turns below which a stretch is not divided: each run has blocks of its own. */
export const LEAST_RUN_TURNS = 64;
/** The next late events reach back little further than the last ones: by this factor they are folded again from a run. */
export const MARGIN = 1.25;
/** By this factor they may reach further back without a read. */
const MOST_MARGIN = 2;
/** What is left of the reach after a chunk without late events. */
const FADING = 0.9;

/** Least turns that a cut leaves after it, so that late events rarely reach before it. */
export function keptTurns({ reach }: Pick<Tail, "reach">): number {
  return Math.min(Math.ceil(MOST_MARGIN * reach), MOST_KEPT_TURNS);
}

function mostOpenTurns(tail: Pick<Tail, "reach">, segmentTurns: number): number {
  return keptTurns(tail) + 4 * segmentTurns;
}

/** Whether a history has so many events since its last cut that it must be cut, though the tail offers no place. */
export function isOverdue(tail: Tail, { stored }: KnownAgent, segmentTurns: number): boolean {
  const most = mostOpenTurns(tail, segmentTurns);
  const { turns, marks } = stored?.open ?? EMPTY_SUMMARY;
  return turns > most || marks > MARKS_FOR_TURN * most;
}

function tailTurns({ runs }: Tail): number {
  return runs.reduce((sum, { stored }) => sum + stored.turns.length, 0);
}

const KILOBYTE = 1_024;
/** What runs take in memory, in kB. A run never changes. */
const sizes = new WeakMap<TailRun, number>();

/** About what a tail takes in memory, in kB. A turn takes one; what a sender says in a mark may take a hundred. */
export function tailKilobytes({ runs }: Tail): number {
  return runs.reduce((sum, run) => sum + runKilobytes(run), 1);
}

function runKilobytes(run: TailRun): number {
  const known = sizes.get(run);
  if (known !== undefined) return known;
  const { turns, marks, crossings } = run.stored;
  const said = marks.reduce((sum, { id, detail }) => sum + id.length + JSON.stringify(detail).length, 0);
  const size = turns.length + marks.length + crossings.length + Math.ceil(said / KILOBYTE);
  sizes.set(run, size);
  return size;
}

/** What the tail holds of some turns and marks. */
export function storedInTail(tail: Tail, keys: ReadonlySet<string>, ids: ReadonlySet<string>): StoredEvents {
  const turns = new Map<string, StoredTurn>();
  const marks = new Map<string, StoredStretch["marks"][number]>();
  for (const { stored } of tail.runs) {
    for (const turn of stored.turns) if (keys.has(turn.row.key)) turns.set(turn.row.key, turn);
    for (const row of stored.marks) if (ids.has(row.id)) marks.set(row.id, row);
  }
  return { turns, marks };
}

/**
 * The tail after events that continued the history. Starts again where the tail could not be trusted: after a cut, a
 * report, or a change to a stored turn.
 */
export function appendToTail(
  { runs, reach: reached }: Tail,
  known: KnownAgent | undefined,
  news: AgentNews,
  changes: AgentChanges,
): Tail {
  const reach = FADING * reached;
  const none: Tail = { runs: [], reach };
  if (known?.stored === undefined || changes.run === undefined) return none;
  if (news.changedTurns.length > 0 || hasReports(news) || changes.rows.crossings.origins.size > 0)
    return none;
  const run: TailRun = {
    before: { totals: totalsOf(known.row), stored: known.stored },
    stored: stretchOf(EMPTY_STRETCH, changes.rows, changes.rows.turns.added),
    summary: changes.run,
    ended: changes.rows.windows.upserts.map(({ index }) => index),
  };
  if (mayCut(known.stored.state)) return trimmed({ runs: [...runs, run], reach });
  // A boundary waits for its level: the next events belong to the same run.
  const last = runs.at(-1);
  if (last === undefined) return none;
  const longer: TailRun = {
    before: last.before,
    stored: stretchOf(last.stored, changes.rows, changes.rows.turns.added),
    summary: joinSummaries(last.summary, run.summary),
    ended: [...last.ended, ...run.ended],
  };
  return trimmed({ runs: [...runs.slice(0, -1), longer], reach });
}

/**
 * The events since the last cut, as one run.
 * @param stored the events up to the end of the history, which were folded with these changes
 */
export function runSinceCut(
  before: TailPoint,
  stored: StoredStretch,
  rows: RowChanges,
  { closed, open }: Segments,
): TailRun {
  const { turns, summary } = open;
  const from = closed.at(-1)?.endsAt ?? Number.NEGATIVE_INFINITY;
  const all = stretchOf(stored, rows, [...closed.flatMap(({ result }) => result.turns), ...turns]);
  const ended = summary.windows.slice(0, -1).map(({ index }) => index);
  return { before, stored: between(all, { from, to: Number.POSITIVE_INFINITY }), summary, ended };
}

/** The tail after a fold from the database. */
export function tailAfterRefold(before: Tail | undefined, { runs, reach }: Tail): Tail {
  return { runs, reach: Math.max(FADING * (before?.reach ?? 0), reach > MOST_KEPT_TURNS ? 0 : reach) };
}

/**
 * Cuts the history at the start of a run, once enough turns came since the last cut. Returns undefined if it is too early,
 * or if no run can start a segment. The runs after the cut stay in the tail.
 */
export function cutTail(
  tail: Tail,
  { row, ...known }: KnownAgent,
  { segmentTurns }: Pick<AgentOptions, "segmentTurns">,
): { segment: SegmentRow; blocks: BlockStretch; known: KnownAgent; tail: Tail } | undefined {
  if (known.stored === undefined) return undefined;
  const latest = known.stored.open.turns - keptTurns(tail);
  for (const [index, { before }] of tail.runs.entries()) {
    const { state, open } = before.stored;
    if (open.turns < segmentTurns) continue;
    if (open.turns > latest) return undefined;
    const runs = tail.runs.slice(index);
    const endsAt = latestEventAt(state);
    if (runs.some(({ stored }) => firstOf(stored) <= endsAt)) continue;
    let summary = EMPTY_SUMMARY;
    const cut = runs.map((run) => {
      const sinceCut = { ...run.before, stored: { ...run.before.stored, open: summary } };
      summary = joinSummaries(summary, run.summary);
      return { ...run, before: sinceCut };
    });
    return {
      segment: { agent: row.number, endsAt, state: packState(state), summary: packSummary(open) },
      blocks: { agent: row.number, from: firstAtOf(open), to: endsAt },
      known: { ...known, row, stored: { ...known.stored, open: summary } },
      tail: { runs: cut, reach: tail.reach },
    };
  }
  return undefined;
}

/** The time of the earliest event. Epoch ms. */
function firstOf({ turns, marks }: StoredStretch): number {
  const first = (events: readonly { at: number }[]) =>
    events.reduce((least, { at }) => Math.min(least, at), Number.POSITIVE_INFINITY);
  return Math.min(first(turns.map(({ row }) => row)), first(marks));
}

/**
 * Folds late events from the tail. Returns undefined if it does not reach far enough back.
 * @param following turns that come after the late events and are added next
 */
export function extendFromTail(
  agent: AgentIdentity & { harness: string },
  known: KnownAgent,
  tail: Tail,
  news: AgentNews,
  following: number,
  options: AgentOptions,
): { changes: AgentChanges; tail: Tail } | undefined {
  if (known.stored === undefined || hasReports(news) || news.replacedMarks.length > 0) return undefined;
  const byTime = new NewsByTime(news);
  const at = byTime.nextAt ?? Number.NEGATIVE_INFINITY;
  for (
    let index = tail.runs.findLastIndex(({ before }) => latestEventAt(before.stored.state) < at);
    index >= 0;
    index--
  ) {
    const runs = tail.runs.slice(index);
    const { totals: earlier, stored: from } = runs[0]!.before;
    const stored = joinStretches(runs.map((run) => run.stored));
    // A report may belong to a level before the run, which only a fold from the database finds.
    if (stored.marks.some(({ type }) => type === "threshold_crossed")) return undefined;
    const events = byTime.merge(stored, EVERYTHING);
    const turns = [...events.turns.values()].map(({ facts }) => facts);
    const overtaken = stored.turns.filter(({ row }) => row.at >= byTime.reachesAt).length;
    const reach = Math.max(FADING * tail.reach, overtaken);
    // Long enough for cuts in the new events.
    if (from.open.turns + turns.length > mostOpenTurns({ reach }, options.segmentTurns)) return undefined;
    const marks = [...events.marks.values()].map(({ mark }) => mark.facts);
    if (marks.length > MARKS_FOR_TURN * mostOpenTurns({ reach }, options.segmentTurns)) return undefined;
    // The next late event is folded from the start of a run that leaves as many turns as it may need.
    const keep = Math.ceil(MARGIN * reach) - following;
    const size =
      keep < LEAST_RUN_TURNS ? Number.POSITIVE_INFINITY : Math.max(turns.length - keep, LEAST_RUN_TURNS);
    const sizes = { size, openTurns: 0, openMarks: 0, keep };
    const folded = finish(foldSegments(from.state, { turns, marks }, options.fold, sizes));
    if (folded === undefined) continue;
    const results = [...folded.closed.map(({ result }) => result), folded.open];
    const { id: agentId, sessionId, receivedAt } = agent;
    const { number } = known.row;
    const place = { agentId, sessionId, receivedAt, number, modelId: options.modelId };
    const { rows, tally } = compareHistory(from.state, stored, events, results, tallyOf(known.row), place);
    const { totals, window, over } = joinTotals(earlier, from.window, results);
    const still = new Set(over.map((one) => one.index));
    rows.windows.upserts = over.map((one) => windowRow(agentId, one));
    rows.windows.deletes = runs.flatMap(({ ended }) => ended).filter((one) => !still.has(one));
    const open = joinSummaries(from.open, ...results.map(({ summary }) => summary));
    const state = folded.open.state;
    const changes: AgentChanges = {
      harness: agent.harness,
      before: known.row,
      after: knownAgent(agent, known, { stored: { state, window, open }, totals, tally }, options),
      rows,
      run: undefined,
    };
    const after = stretchOf(
      stored,
      rows,
      results.flatMap((result) => result.turns),
    );
    const divided = divide(after, runs[0]!.before, folded);
    return { changes, tail: trimmed({ runs: [...tail.runs.slice(0, index), ...divided], reach }) };
  }
  return undefined;
}

/** Divides what is stored of a stretch into runs, as it was folded. */
function divide(stretch: StoredStretch, start: TailPoint, { closed, open }: Segments): TailRun[] {
  const runs: TailRun[] = [];
  let before = start;
  let from = Number.NEGATIVE_INFINITY;
  for (const { endsAt: to, result } of [...closed, { endsAt: Number.POSITIVE_INFINITY, result: open }]) {
    const { totals, window, over } = joinTotals(before.totals, before.stored.window, [result]);
    runs.push({
      before,
      stored: between(stretch, { from, to }),
      summary: result.summary,
      ended: over.map(({ index }) => index),
    });
    const summary = joinSummaries(before.stored.open, result.summary);
    before = { totals, stored: { state: result.state, window, open: summary } };
    from = to;
  }
  return runs;
}

const EMPTY_STRETCH: StoredStretch = { turns: [], marks: [], crossings: [] };
const EVERYTHING = { from: Number.NEGATIVE_INFINITY, to: Number.POSITIVE_INFINITY };

function hasReports({ newMarks, replacedMarks }: AgentNews): boolean {
  return (
    newMarks.some(({ facts }) => facts.crossing !== undefined) ||
    replacedMarks.some(({ after }) => after.facts.crossing !== undefined)
  );
}

/** Without the runs that the later ones make unnecessary. */
function trimmed(tail: Tail): Tail {
  const kept = keptTurns(tail);
  let from = 0;
  let turns = tailTurns(tail);
  for (const { stored } of tail.runs.slice(0, -1)) {
    turns -= stored.turns.length;
    if (turns < kept) break;
    from += 1;
  }
  return from === 0 ? tail : { ...tail, runs: tail.runs.slice(from) };
}

/** What is in a stretch of time, without its start. Epoch ms. */
function between(stretch: StoredStretch, { from, to }: { from: number; to: number }): StoredStretch {
  const isIn = ({ at }: { at: number }) => at > from && at <= to;
  return {
    turns: stretch.turns.filter(({ row }) => isIn(row)),
    marks: stretch.marks.filter(isIn),
    crossings: stretch.crossings.filter(isIn),
  };
}

function joinStretches(stretches: readonly StoredStretch[]): StoredStretch {
  return {
    turns: stretches.flatMap(({ turns }) => turns),
    marks: stretches.flatMap(({ marks }) => marks),
    crossings: stretches.flatMap(({ crossings }) => crossings),
  };
}

/** What is stored of a stretch after some changes. `folded` are the turns as they read now. */
function stretchOf(
  before: StoredStretch,
  { blocks, boundaries, crossings: changed }: RowChanges,
  folded: readonly TurnReading[],
): StoredStretch {
  const readings = new Map(folded.map((reading) => [reading.turn.key, reading]));
  const gone = new Set<unknown>(blocks.deletes);
  const turns = before.turns.filter(({ block }) => !gone.has(block));
  for (const block of blocks.inserts) {
    for (const row of block.rows) turns.push({ row, reading: readings.get(row.key)!, block });
  }
  const marks = new Map(before.marks.map((row) => [row.id, row]));
  for (const row of [...boundaries.inserts, ...boundaries.upserts]) marks.set(row.id, row);
  for (const { id, window: windowIndex, tokensBefore, tokensAfter, fall } of boundaries.settled) {
    const row = marks.get(id);
    if (row !== undefined) marks.set(id, { ...row, windowIndex, tokensBefore, tokensAfter, fall });
  }
  for (const id of boundaries.deletes) marks.delete(id);
  const crossings = new Map(before.crossings.map((row) => [row.id, row]));
  for (const id of changed.deletes) crossings.delete(id);
  for (const row of changed.upserts) crossings.set(row.id, row);
  return { turns, marks: [...marks.values()], crossings: [...crossings.values()] };
}
