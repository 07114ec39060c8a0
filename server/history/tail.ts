import {
  EMPTY_STATE,
  EMPTY_SUMMARY,
  extendAgent,
  type FoldResult,
  joinSummaries,
  mayCut,
  type Summary,
} from "@plimsoll/protocol";
import { packState, packSummary, type StoredState } from "../store/packed-state.ts";
import type { SegmentRow } from "../store/segments.ts";
import type { BlockStretch } from "../store/turn-blocks.ts";
import {
  type AgentChanges,
  type AgentIdentity,
  type AgentOptions,
  type KnownAgent,
  knownAgent,
  noChanges,
  tallyOf,
  windowRow,
} from "./agent-changes.ts";
import type { AgentNews, StoredEvents, StoredTurn } from "./agent-news.ts";
import { compareHistory } from "./compare-history.ts";
import { firstAtOf, joinTotals } from "./extend-agent.ts";
import { NewsByTime } from "./news-by-time.ts";
import type { StoredStretch } from "./read-history.ts";

/** Events of one batch or more, and the agent before them. */
interface TailRun {
  before: KnownAgent;
  stored: StoredStretch;
  /** Of the run's events alone. */
  summary: Summary;
  /** Windows that ended in the run. */
  ended: readonly number[];
}

/** The latest events of an agent in memory, oldest run first: an event that is a little late needs no read. */
export type Tail = readonly TailRun[];

/** Turns of one agent in memory. */
const TAIL_TURNS = 256;

export function tailTurns(tail: Tail): number {
  return tail.reduce((sum, { stored }) => sum + stored.turns.length, 0);
}

/** Epoch ms; every stored event after it is in the tail. */
export function tailStart(tail: Tail): number | undefined {
  const first = tail[0];
  return first === undefined ? undefined : endOf(first.before);
}

/** What the tail holds of some turns and marks. */
export function storedInTail(tail: Tail, keys: ReadonlySet<string>, ids: ReadonlySet<string>): StoredEvents {
  const turns = new Map<string, StoredTurn>();
  const marks = new Map<string, StoredStretch["marks"][number]>();
  for (const { stored } of tail) {
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
  tail: Tail,
  known: KnownAgent | undefined,
  news: AgentNews,
  changes: AgentChanges,
): Tail {
  if (known?.stored === undefined || changes.run === undefined) return [];
  if (news.changedTurns.length > 0 || hasReports(news) || changes.crossingOrigins.size > 0) return [];
  const run: TailRun = {
    before: known,
    stored: stretchOf(EMPTY_STRETCH, changes),
    summary: changes.run,
    ended: changes.windowUpserts.map(({ index }) => index),
  };
  const last = tail.at(-1);
  if (mayCut(known.stored.state)) return trimmed([...tail, run]);
  // A boundary waits for its level: the next events belong to the same run.
  if (last === undefined) return [];
  const stored = stretchOf(last.stored, changes);
  const summary = joinSummaries(last.summary, run.summary);
  return trimmed([...tail.slice(0, -1), { ...last, stored, summary, ended: [...last.ended, ...run.ended] }]);
}

/** The tail after a fold from the database: the events since the last cut. */
export function tailSinceCut(
  before: KnownAgent,
  stored: StoredStretch,
  changes: StretchChanges,
  result: FoldResult,
): Tail {
  return [
    {
      before,
      stored: stretchOf(stored, changes, result),
      summary: result.summary,
      ended: result.summary.windows.slice(0, -1).map(({ index }) => index),
    },
  ];
}

/**
 * Cuts the history at the start of a run, once enough turns came since the last cut. Returns undefined if it is too early,
 * or if no run can start a segment. The runs after the cut stay in the tail, so a late event rarely reaches before it.
 */
export function cutTail(
  tail: Tail,
  { row, ...known }: KnownAgent,
  { segmentTurns }: Pick<AgentOptions, "segmentTurns">,
): { segment: SegmentRow; blocks: BlockStretch; known: KnownAgent; tail: Tail } | undefined {
  const kept = Math.min(TAIL_TURNS, segmentTurns) / 2;
  if (known.stored === undefined || known.stored.open.turns < segmentTurns + kept) return undefined;
  for (const [index, { before }] of tail.entries()) {
    if (index === 0 || before.stored === undefined || before.stored.open.turns < segmentTurns) continue;
    const runs = tail.slice(index);
    const endsAt = endOf(before);
    if (runs.some(({ stored }) => firstOf(stored) <= endsAt)) continue;
    const { state, open } = before.stored;
    let summary = EMPTY_SUMMARY;
    const cut = runs.map((run) => {
      const sinceCut = { ...run.before, stored: { ...run.before.stored!, open: summary } };
      summary = joinSummaries(summary, run.summary);
      return { ...run, before: sinceCut };
    });
    return {
      segment: { agent: row.number, endsAt, state: packState(state), summary: packSummary(open) },
      blocks: { agent: row.number, from: firstAtOf(open), to: endsAt },
      known: { ...known, row, stored: { ...known.stored, open: summary } },
      tail: cut,
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

/** Folds a late event again from the tail. Returns undefined if the tail does not reach far enough back. */
export function extendFromTail(
  agent: AgentIdentity & { harness: string },
  known: KnownAgent,
  tail: Tail,
  news: AgentNews,
  options: AgentOptions,
): { changes: AgentChanges; tail: Tail } | undefined {
  if (known.stored === undefined || hasReports(news) || news.replacedMarks.length > 0) return undefined;
  const byTime = new NewsByTime(news);
  const at = byTime.nextAt ?? Number.NEGATIVE_INFINITY;
  for (let index = tail.findLastIndex(({ before }) => endOf(before) < at); index >= 0; index--) {
    const runs = tail.slice(index);
    const base = runs[0]!.before;
    const from: StoredState = base.stored ?? { state: EMPTY_STATE, window: undefined, open: EMPTY_SUMMARY };
    const stored = joinStretches(runs.map((run) => run.stored));
    // A report may belong to a level before the run, which only a fold from the database finds.
    if (stored.marks.some(({ type }) => type === "threshold_crossed")) return undefined;
    const events = byTime.merge(stored, EVERYTHING);
    // Long enough for a cut, which only a fold from the database makes.
    if (from.open.turns + events.turns.size > 2 * options.segmentTurns) return undefined;
    const result = extendAgent(
      from.state,
      [...events.turns.values()].map(({ facts }) => facts),
      [...events.marks.values()].map(({ mark }) => mark.facts),
      options.fold,
    );
    if (result === undefined) continue;
    const { id: agentId, sessionId, receivedAt } = agent;
    const { number } = known.row;
    const place = { agentId, sessionId, receivedAt, number, modelId: options.modelId };
    const comparison = compareHistory(from.state, stored, events, [result], tallyOf(known.row), place);
    const { totals, window, over } = joinTotals(base, from.window, [result]);
    const still = new Set(over.map((one) => one.index));
    const changes: AgentChanges = {
      ...noChanges(agent.harness, known.row, known),
      ...comparison.changes,
      windowUpserts: over.map((one) => windowRow(agentId, one)),
      windowDeletes: runs.flatMap(({ ended }) => ended).filter((one) => !still.has(one)),
    };
    const open = joinSummaries(from.open, result.summary);
    const after = { stored: { state: result.state, window, open }, totals, tally: comparison.tally };
    changes.after = knownAgent(agent, known, after, options);
    const run: TailRun = {
      before: base,
      stored: stretchOf(stored, changes, result),
      summary: result.summary,
      ended: [...still],
    };
    return { changes, tail: trimmed([...tail.slice(0, index), run]) };
  }
  return undefined;
}

type StretchChanges = Pick<
  AgentChanges,
  | "blockDeletes"
  | "blockInserts"
  | "boundaryInserts"
  | "boundaryUpserts"
  | "boundaryDeletes"
  | "crossingUpserts"
  | "crossingDeletes"
  | "added"
> &
  Partial<Pick<AgentChanges, "settled">>;

const EMPTY_STRETCH: StoredStretch = { turns: [], marks: [], crossings: [] };
const EVERYTHING = { from: Number.NEGATIVE_INFINITY, to: Number.POSITIVE_INFINITY };

/** Time of the latest event that the agent has seen. Epoch ms. */
export function endOf({ stored }: KnownAgent): number {
  const { lastTurnAt, lastMark } = stored?.state ?? EMPTY_STATE;
  return Math.max(lastTurnAt ?? Number.NEGATIVE_INFINITY, lastMark?.at ?? Number.NEGATIVE_INFINITY);
}

function hasReports({ newMarks, replacedMarks }: AgentNews): boolean {
  return (
    newMarks.some(({ facts }) => facts.crossing !== undefined) ||
    replacedMarks.some(({ after }) => after.facts.crossing !== undefined)
  );
}

/** At least the last run stays. */
function trimmed(tail: Tail): Tail {
  let from = 0;
  let turns = tailTurns(tail);
  while (from < tail.length - 1 && turns > TAIL_TURNS) turns -= tail[from++]!.stored.turns.length;
  return from === 0 ? tail : tail.slice(from);
}

function joinStretches(stretches: readonly StoredStretch[]): StoredStretch {
  return {
    turns: stretches.flatMap(({ turns }) => turns),
    marks: stretches.flatMap(({ marks }) => marks),
    crossings: stretches.flatMap(({ crossings }) => crossings),
  };
}

/** What is stored of a stretch after some changes. */
function stretchOf(before: StoredStretch, changes: StretchChanges, result?: FoldResult): StoredStretch {
  const readings = new Map((result?.turns ?? changes.added).map((reading) => [reading.turn.key, reading]));
  const gone = new Set<unknown>(changes.blockDeletes);
  const turns = before.turns.filter(({ block }) => !gone.has(block));
  for (const block of changes.blockInserts) {
    for (const row of block.rows) turns.push({ row, reading: readings.get(row.key)!, block });
  }
  const marks = new Map(before.marks.map((row) => [row.id, row]));
  for (const row of [...changes.boundaryInserts, ...changes.boundaryUpserts]) marks.set(row.id, row);
  for (const { id, window: windowIndex, tokensBefore, tokensAfter } of changes.settled ?? []) {
    const row = marks.get(id);
    if (row !== undefined) marks.set(id, { ...row, windowIndex, tokensBefore, tokensAfter });
  }
  for (const id of changes.boundaryDeletes) marks.delete(id);
  const crossings = new Map(before.crossings.map((row) => [row.id, row]));
  for (const id of changes.crossingDeletes) crossings.delete(id);
  for (const row of changes.crossingUpserts) crossings.set(row.id, row);
  return { turns, marks: [...marks.values()], crossings: [...crossings.values()] };
}
