import {
  type AgentState,
  type BoundaryReading,
  type Crossing,
  type FoldResult,
  type InferredBoundary,
  originsAt,
  sameFall,
  type TurnReading,
} from "@plimsoll/fold";
import type { Tally } from "../../db/tables/agents.ts";
import {
  type BoundaryRow,
  inferredRow,
  markOfRow,
  readingOfRow,
  reportedRow,
  sameMark,
} from "../../db/tables/boundaries.ts";
import { BOUNDARY_ORIGIN } from "../../db/tables/codes.ts";
import { crossingOfRow, crossingRow } from "../../db/tables/crossings.ts";
import { blocksOf } from "../../db/tables/turn-blocks.ts";
import { modelIdOf, sameReading, turnRow } from "../../db/tables/turns.ts";
import { countBoundary, countTurns, noRows, type RowChanges } from "./agent-changes.ts";
import { sameTurn } from "./group-events.ts";
import type { StretchEvents, StretchMark } from "./news-by-time.ts";
import type { StoredStretch } from "./read-history.ts";

/** Where the rows of an agent belong. */
export interface AgentPlace {
  agentId: string;
  sessionId: string;
  number: number;
  modelId: (name: string) => number;
  /** For boundaries inferred now. Epoch ms. */
  receivedAt: number;
}

export interface Comparison {
  rows: RowChanges;
  tally: Tally;
  /**
   * Whether a crossing may be stored with another origin. A report in the next segment may be the cause, so that segment
   * has to be folded too.
   */
  originChanged: boolean;
}

/** The differences between what is stored of a stretch and how it reads now. `from` is the state before it. */
export function compareHistory(
  from: AgentState,
  stored: StoredStretch,
  events: StretchEvents,
  results: readonly FoldResult[],
  tally: Tally,
  place: AgentPlace,
): Comparison {
  const comparison: Comparison = { rows: noRows(), tally, originChanged: false };
  compareTurns(comparison, place, stored, events, results);
  comparison.tally = countTurns(tally, comparison.rows.turns);
  for (const result of results) {
    for (const reading of result.marks.values()) {
      compareMark(comparison, place, events.marks.get(reading.id)!, reading);
    }
  }
  compareInferred(comparison, place, stored, results);
  compareCrossings(comparison, place, from, stored, events, results);
  return comparison;
}

/** If some turn is new or reads differently, all blocks of the stretch are packed again: one for each result, or more. */
function compareTurns(
  { rows: { blocks, turns } }: Comparison,
  place: AgentPlace,
  stored: StoredStretch,
  events: StretchEvents,
  results: readonly FoldResult[],
): void {
  const rows = results.map((result) =>
    result.turns.map((reading) => {
      const { stored, receivedAt, facts } = events.turns.get(reading.turn.key)!;
      if (stored === undefined) turns.added.push(reading);
      else if (stored.reading.report !== facts || !readsTheSameCall(stored.reading, reading)) {
        turns.replaced.push({ before: stored.reading, after: reading });
      } else return stored.row;
      const { number: agent, modelId } = place;
      return turnRow(reading, { agent, modelId: modelIdOf(facts, modelId), receivedAt });
    }),
  );
  const changed = turns.added.length + turns.replaced.length > 0;
  const moved = stored.turns.some(({ row }) => !events.turns.has(row.key));
  // A cut that is new must not run through a block.
  const cut = rows.filter(({ length }) => length > 0).length > 1;
  if (!changed && !moved && !cut) return;
  blocks.deletes.push(...new Set(stored.turns.map(({ block }) => block)));
  blocks.inserts.push(...rows.flatMap(blocksOf));
}

/** Whether a fold read the turn the same way, and found the same other reports of its call. */
function readsTheSameCall(a: TurnReading, b: TurnReading): boolean {
  if (!sameReading(a, b)) return false;
  const isAlone = a.turn === a.report && b.turn === b.report;
  return isAlone || sameTurn(a.turn, b.turn);
}

function compareMark(
  comparison: Comparison,
  place: AgentPlace,
  { mark, stored }: StretchMark,
  reading: BoundaryReading,
): void {
  const before = stored && readingOfRow(stored);
  if (stored !== undefined && sameBoundary(before!, reading) && sameMark(markOfRow(stored), mark)) return;
  const { receivedAt } = mark;
  const { inserts, upserts } = comparison.rows.boundaries;
  const rows = stored === undefined ? inserts : upserts;
  rows.push(reportedRow(mark, reading, { ...rowPlace(place), receivedAt }));
  replaceBoundary(comparison, before, reading);
}

function compareInferred(
  comparison: Comparison,
  place: AgentPlace,
  stored: StoredStretch,
  results: readonly FoldResult[],
): void {
  const left = new Map<string, BoundaryRow>();
  for (const row of stored.marks) if (row.origin === BOUNDARY_ORIGIN.inferred) left.set(row.id, row);
  for (const inferred of results.flatMap((result) => [...result.inferred.values()])) {
    const row = left.get(inferred.id);
    left.delete(inferred.id);
    if (row !== undefined && sameInferred(row, inferred)) continue;
    const receivedAt = row?.receivedAt ?? place.receivedAt;
    const { inserts, upserts } = comparison.rows.boundaries;
    const rows = row === undefined ? inserts : upserts;
    rows.push(inferredRow(inferred, { ...rowPlace(place), receivedAt }));
    replaceBoundary(comparison, row && readingOfRow(row), inferred);
  }
  for (const row of left.values()) {
    comparison.rows.boundaries.deletes.push(row.id);
    replaceBoundary(comparison, readingOfRow(row), undefined);
  }
}

function compareCrossings(
  comparison: Comparison,
  place: AgentPlace,
  from: AgentState,
  stored: StoredStretch,
  events: StretchEvents,
  results: readonly FoldResult[],
): void {
  const left = new Map(stored.crossings.map((row) => [row.id, crossingOfRow(row)]));
  const found = new Map<string, Crossing>();
  const { origins, upserts, deletes } = comparison.rows.crossings;
  if ([...events.marks.values()].some(({ mark }) => mark.facts.crossing !== undefined)) {
    // A report that had joined a crossing before the stretch may have moved.
    for (const [id, origin] of originsAt(from.levels)) origins.set(id, origin);
    comparison.originChanged ||= origins.size > 0;
  }
  for (const result of results) {
    for (const id of result.withdrawn.keys()) found.delete(id);
    for (const [id, origin] of result.origins) {
      const crossing = found.get(id);
      if (crossing === undefined) origins.set(id, origin);
      else found.set(id, { ...crossing, origin });
    }
    for (const [id, crossing] of result.crossings) found.set(id, crossing);
  }
  for (const [id, crossing] of found) {
    const before = left.get(id);
    left.delete(id);
    comparison.originChanged ||= before !== undefined && before.origin !== crossing.origin;
    // A report sent again with other content keeps the id of its crossing, and may no longer be a warning.
    if (before !== undefined) countWarning(comparison, before, -1);
    countWarning(comparison, crossing, 1);
    if (before !== undefined && sameCrossing(before, crossing)) continue;
    const { agentId, sessionId } = place;
    upserts.push(crossingRow(crossing, { agentId, sessionId }));
  }
  for (const [id, crossing] of left) {
    deletes.push(id);
    countWarning(comparison, crossing, -1);
  }
}

function rowPlace({ agentId, sessionId, receivedAt }: AgentPlace) {
  return { agentId, sessionId, receivedAt };
}

function replaceBoundary(
  comparison: Comparison,
  before: BoundaryReading | undefined,
  after: BoundaryReading | undefined,
): void {
  const counts = comparison.rows.boundaryCounts;
  if (before !== undefined) {
    counts.push({ reading: before, count: -1 });
    comparison.tally = countBoundary(comparison.tally, before, -1);
  }
  if (after !== undefined) {
    counts.push({ reading: after, count: 1 });
    comparison.tally = countBoundary(comparison.tally, after, 1);
  }
}

function countWarning(comparison: Comparison, { up, threshold }: Crossing, count: 1 | -1): void {
  if (!up || threshold !== "warning") return;
  comparison.tally = { ...comparison.tally, warnings: comparison.tally.warnings + count };
}

function sameCrossing(a: Crossing, b: Crossing): boolean {
  return (
    a.threshold === b.threshold &&
    a.up === b.up &&
    a.origin === b.origin &&
    a.turnKey === b.turnKey &&
    a.at === b.at &&
    a.thresholdTokens === b.thresholdTokens &&
    a.contextTokens === b.contextTokens &&
    a.windowTokens === b.windowTokens
  );
}

function sameBoundary(a: BoundaryReading, b: BoundaryReading): boolean {
  return (
    a.type === b.type &&
    a.at === b.at &&
    a.window === b.window &&
    a.tokensBefore === b.tokensBefore &&
    a.tokensAfter === b.tokensAfter &&
    sameFall(a.fall, b.fall)
  );
}

function sameInferred(row: BoundaryRow, inferred: InferredBoundary): boolean {
  const { hint } = row.detail as { hint?: string };
  return sameBoundary(readingOfRow(row), inferred) && hint === inferred.hint;
}
