import {
  EMPTY_STATE,
  EMPTY_SUMMARY,
  type FoldResult,
  foldSegments,
  higherPeak,
  joinSummaries,
  joinWindows,
  larger,
  latestEventAt,
  type Segments,
  STEP_EVENTS,
  type Steps,
  type Summary,
  type WindowSummary,
} from "@plimsoll/fold";
import type { Tally } from "../../db/tables/agents.ts";
import { inferredRow, reportedRow } from "../../db/tables/boundaries.ts";
import { crossingRow } from "../../db/tables/crossings.ts";
import { packState, packSummary, type StoredState } from "../../db/tables/packed-state.ts";
import { type BlockStretch, blocksOf } from "../../db/tables/turn-blocks.ts";
import { modelIdOf, type TurnRow, turnRow } from "../../db/tables/turns.ts";
import {
  type AgentChanges,
  type AgentIdentity,
  type AgentOptions,
  type AgentTotals,
  countBoundary,
  countTurns,
  type KnownAgent,
  knownAgent,
  noRows,
  type RowChanges,
  tallyOf,
  totalsOf,
  windowRow,
} from "./agent-changes.ts";
import type { AgentNews } from "./agent-news.ts";

/** Why an agent's history is folded again, and not only continued. */
export type RefoldReason = "turn_changed" | "mark_replaced" | "out_of_order" | "state_dropped";

const START: StoredState = { state: EMPTY_STATE, window: undefined, open: EMPTY_SUMMARY };

/**
 * Continues an agent's history with its news. Returns the reason if the news do not come after everything known: then
 * the history must be folded again.
 */
export function* extendKnownAgent(
  agent: AgentIdentity & { harness: string },
  known: KnownAgent | undefined,
  news: AgentNews,
  options: AgentOptions,
): Steps<AgentChanges | RefoldReason> {
  if (known !== undefined && known.stored === undefined) return "state_dropped";
  if (news.changedTurns.some(({ moves }) => moves)) return "turn_changed";
  if (news.replacedMarks.length > 0) return "mark_replaced";
  const from = known?.stored ?? START;
  const events = {
    turns: news.newTurns.map(({ facts }) => facts),
    marks: news.newMarks.map(({ facts }) => facts),
  };
  if (reachesCut(from, [...events.turns, ...events.marks])) return "out_of_order";
  const segments = yield* foldSegments(from.state, events, options.fold, {
    size: options.segmentTurns,
    openTurns: from.open.turns,
    openMarks: from.open.marks,
  });
  if (segments === undefined) return "out_of_order";

  const runs = [...segments.closed.map(({ result }) => result), segments.open];
  const { totals, window, over } = joinTotals(totalsOf(known?.row), from.window, runs);
  const stored = { state: segments.open.state, window, open: openSummary(from, segments) };
  const number = known?.row.number ?? options.nextNumber();
  const { rows, tally } = yield* rowsOf(agent, runs, news, known, { ...options, number });
  rows.blocks.joins = joinsOf(from, segments, number);
  rows.windows.upserts = over.map((one) => windowRow(agent.id, one));
  rows.segments.upserts = segments.closed.map(({ endsAt, result }, index) => ({
    agent: number,
    endsAt,
    state: packState(result.state),
    summary: packSummary(index === 0 ? joinSummaries(from.open, result.summary) : result.summary),
  }));
  return {
    harness: agent.harness,
    before: known?.row,
    after: knownAgent(agent, known, { stored, totals, tally }, { ...options, nextNumber: () => number }),
    rows,
    run: segments.closed.length === 0 ? segments.open.summary : undefined,
  };
}

/**
 * Whether some event may be at or before the last cut. Then it belongs into the segment before the cut, also if its
 * sequence number or key places it after everything known.
 */
function reachesCut({ state, open }: StoredState, events: readonly { at: number }[]): boolean {
  if (open.turns > 0) {
    const firstOpenAt = firstAtOf(open);
    return events.some(({ at }) => at < firstOpenAt);
  }
  const lastAt = latestEventAt(state);
  return events.some(({ at }) => at <= lastAt);
}

/** The segment that was open before holds one block a batch, until it is over. */
function joinsOf({ open }: StoredState, { closed }: Segments, agent: number): BlockStretch[] {
  const [first] = closed;
  if (first === undefined || open.turns === 0) return [];
  return [{ agent, from: firstAtOf(open), to: first.endsAt }];
}

/** The time of the first turn. Epoch ms. */
export function firstAtOf({ windows }: Summary): number {
  return windows.reduce((least, { firstAt }) => Math.min(least, firstAt), Number.POSITIVE_INFINITY);
}

function openSummary(from: StoredState, { closed, open }: Segments): Summary {
  return closed.length > 0 ? open.summary : joinSummaries(from.open, open.summary);
}

/** The agent's totals after some runs, the window it is in, and the windows it left. */
export function joinTotals(
  before: AgentTotals,
  open: WindowSummary | undefined,
  runs: readonly Pick<FoldResult, "summary">[],
) {
  const totals = { ...before };
  const over: WindowSummary[] = [];
  let window = open;
  for (const { summary } of runs) {
    totals.turns += summary.turns;
    totals.peak = higherPeak(totals.peak, summary.peak);
    totals.peakUtilization = larger(totals.peakUtilization, summary.peakUtilization);
    for (const next of summary.windows) {
      if (window !== undefined && window.index === next.index) window = joinWindows(window, next);
      else {
        if (window !== undefined) over.push(window);
        window = next;
        totals.windows += 1;
      }
    }
  }
  return { totals, window, over };
}

/** Yields every `STEP_EVENTS`. */
function* rowsOf(
  agent: AgentIdentity,
  runs: readonly FoldResult[],
  news: AgentNews,
  known: KnownAgent | undefined,
  { modelId, number }: Pick<AgentOptions, "modelId"> & { number: number },
): Steps<{ rows: RowChanges; tally: Tally }> {
  const place = { agentId: agent.id, sessionId: agent.sessionId, receivedAt: agent.receivedAt };
  const received = new Map<string, number>();
  for (const { facts, receivedAt } of news.newTurns) received.set(facts.key, receivedAt);
  const marks = new Map(news.newMarks.map((mark) => [mark.facts.id, mark]));
  const changes = noRows();
  const { blocks, boundaries, crossings, turns, boundaryCounts } = changes;
  let tally = tallyOf(known?.row);

  const changed = new Map<string, TurnRow>();
  for (const { before, after } of news.changedTurns) {
    const reading = { ...before.reading, turn: after, report: after };
    const receivedAt = before.row.at + before.row.delay * 1_000;
    changed.set(after.key, turnRow(reading, { agent: number, modelId: before.row.modelId, receivedAt }));
    turns.replaced.push({ before: before.reading, after: reading });
  }
  for (const block of new Set(news.changedTurns.map(({ before }) => before.block))) {
    blocks.deletes.push(block);
    blocks.inserts.push({ ...block, rows: block.rows.map((row) => changed.get(row.key) ?? row) });
  }
  const pending = new Map(known?.stored?.state.pending.map((reading) => [reading.id, reading]));
  for (const run of runs) {
    let done = 0;
    const rows: TurnRow[] = [];
    for (const reading of run.turns) {
      const { turn } = reading;
      const receivedAt = received.get(turn.key) ?? agent.receivedAt;
      rows.push(turnRow(reading, { agent: number, modelId: modelIdOf(turn, modelId), receivedAt }));
      turns.added.push(reading);
      if (++done % STEP_EVENTS === 0) yield;
    }
    for (const block of blocksOf(rows)) blocks.inserts.push(block);
    for (const reading of run.marks.values()) {
      if (++done % STEP_EVENTS === 0) yield;
      const mark = marks.get(reading.id);
      if (mark !== undefined) {
        boundaries.inserts.push(reportedRow(mark, reading, { ...place, receivedAt: mark.receivedAt }));
      } else {
        boundaries.settled.push(reading);
        const before = pending.get(reading.id)!;
        boundaryCounts.push({ reading: before, count: -1 });
        tally = countBoundary(tally, before, -1);
      }
      boundaryCounts.push({ reading, count: 1 });
      tally = countBoundary(tally, reading, 1);
    }
    yield;
    for (const inferred of run.inferred.values()) {
      boundaries.inserts.push(inferredRow(inferred, place));
      boundaryCounts.push({ reading: inferred, count: 1 });
      tally = countBoundary(tally, inferred, 1);
    }
    for (const crossing of run.crossings.values()) {
      crossings.upserts.push(crossingRow(crossing, place));
      if (crossing.up && crossing.threshold === "warning") tally.warnings += 1;
    }
    for (const [id, origin] of run.origins) crossings.origins.set(id, origin);
    for (const [id, { threshold, up }] of run.withdrawn) {
      crossings.deletes.push(id);
      if (up && threshold === "warning") tally.warnings -= 1;
    }
  }
  return { rows: changes, tally: countTurns(tally, turns) };
}
