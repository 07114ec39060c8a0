import type { BoundaryReading, FoldResult, Thresholds, TurnReading, WindowSummary } from "@plimsoll/protocol";
import { isBoundary, reclaimedTokens } from "@plimsoll/protocol";
import type { AgentRow, KnownAgent, Tally } from "./agents.ts";
import { EMPTY_TALLY, TALLY_OF } from "./agents.ts";
import type { BatchAgent, BatchMark } from "./batch.ts";
import { BOUNDARY_ORIGIN } from "./codes.ts";
import type { BoundaryRow, CrossingRow, StoredMark } from "./marks.ts";
import { inferredRow, reportedRow } from "./marks.ts";
import { RollupChanges } from "./rollup.ts";
import type { TurnRow } from "./turns.ts";
import { sameRow, shareOf } from "./turns.ts";

/** All that one transaction will write, gathered before it is written. */
export class Changes {
  readonly turnInserts: TurnRow[] = [];
  readonly turnUpdates: TurnRow[] = [];
  /** Boundaries and signs that were said; none of them is stored yet. */
  readonly reported: BoundaryRow[] = [];
  readonly inferred: BoundaryRow[] = [];
  readonly settled: { agent: BatchAgent; reading: BoundaryReading }[] = [];
  readonly boundaryDeletes: { agent: BatchAgent; id: string }[] = [];
  /** Windows that are over. The one an agent is in stands in its state. */
  readonly windows: { agent: BatchAgent; window: WindowSummary }[] = [];
  readonly otherWindows: { agent: BatchAgent; kept: number[] }[] = [];
  readonly crossings: CrossingRow[] = [];
  readonly crossingDeletes: { agent: BatchAgent; id: string }[] = [];
  readonly agents: AgentRow[] = [];
  readonly rollups = new RollupChanges();
}

/** What an agent of the batch brings that the database does not have. */
export interface Arrived {
  agent: BatchAgent & { sessionId: string };
  known: KnownAgent | undefined;
  marks: ReadonlyMap<string, BatchMark>;
  thresholds: Thresholds;
}

export function turnRowOf(agent: BatchAgent, reading: TurnReading, modelId: number): TurnRow {
  const { turn, ...rest } = reading;
  return { projectId: agent.projectId, agentId: agent.id, modelId, facts: turn, reading: rest };
}

/** Events that continue an agent's history: everything the fold returned is new. */
export function applyExtension(changes: Changes, arrived: Arrived, result: FoldResult): void {
  const { agent } = arrived;
  const tally: Tally = { ...(arrived.known?.tally ?? EMPTY_TALLY) };
  for (const reading of result.marks.values()) {
    const mark = arrived.marks.get(reading.id);
    if (mark === undefined) changes.settled.push({ agent, reading });
    else changes.reported.push(reportedRow(agent, agent.sessionId, mark.event, reading));
    count(changes, agent, tally, reading, mark === undefined ? 0 : 1, reclaimedTokens(reading));
  }
  for (const inferred of result.inferred.values()) {
    changes.inferred.push(inferredRow(agent, agent.sessionId, inferred));
    count(changes, agent, tally, inferred, 1, reclaimedTokens(inferred));
  }
  const before = arrived.known?.state.window;
  const open = result.state.window?.index;
  if (before !== undefined && before.index !== open && !result.windows.has(before.index)) {
    changes.windows.push({ agent, window: before });
  }
  addClosed(changes, agent, result);
  for (const crossing of result.crossings) {
    changes.crossings.push({ agent, sessionId: agent.sessionId, crossing });
    if (crossing.up && crossing.threshold === "warning") tally.warnings += 1;
  }
  changes.agents.push(agentRow(arrived, result.state, tally));
}

/** What the database holds of an agent whose history had to be read again. */
export interface Stored {
  turns: ReadonlyMap<string, TurnRow>;
  /** Rows this very transaction inserted: they are in no rollup yet. */
  inserted: ReadonlySet<string>;
  marks: readonly StoredMark[];
  crossings: readonly { id: string }[];
}

/** Events out of order: the whole history was folded again, and what differs from the database is written. */
export function applyHistory(
  changes: Changes,
  arrived: Arrived,
  stored: Stored,
  result: FoldResult,
  modelId: (model: string) => number,
): void {
  const { agent } = arrived;
  const tally: Tally = { ...EMPTY_TALLY };
  for (const reading of result.turns) {
    const row = turnRowOf(agent, reading, modelId(reading.turn.model));
    const before = stored.turns.get(row.facts.key);
    if (before === undefined) changes.turnInserts.push(row);
    else if (before.facts !== row.facts || !sameRow(before, row)) changes.turnUpdates.push(row);
    else if (!stored.inserted.has(row.facts.key)) continue;
    if (before !== undefined && !stored.inserted.has(row.facts.key)) {
      changes.rollups.replaceTurn(shareOf(before, agent.harness), shareOf(row, agent.harness));
    } else {
      changes.rollups.addTurn(shareOf(row, agent.harness));
    }
  }

  const earlier = new Map(stored.marks.map((mark) => [mark.reading.id, mark]));
  for (const reading of result.marks.values()) {
    const before = earlier.get(reading.id);
    earlier.delete(reading.id);
    const mark = arrived.marks.get(reading.id);
    if (before === undefined && mark !== undefined) {
      changes.reported.push(reportedRow(agent, agent.sessionId, mark.event, reading));
    } else if (before !== undefined && !sameReading(before.reading, reading)) {
      changes.settled.push({ agent, reading });
    }
    recount(changes, agent, tally, before, reading);
  }
  for (const inferred of result.inferred.values()) {
    const before = earlier.get(inferred.id);
    earlier.delete(inferred.id);
    const changed =
      before === undefined || !sameReading(before.reading, inferred) || before.hint !== inferred.hint;
    if (changed) changes.inferred.push(inferredRow(agent, agent.sessionId, inferred));
    recount(changes, agent, tally, before, inferred);
  }
  for (const gone of earlier.values()) {
    if (gone.origin !== BOUNDARY_ORIGIN.inferred) continue;
    changes.boundaryDeletes.push({ agent, id: gone.reading.id });
    changes.rollups.addBoundary(placeOf(agent, gone.reading), -1, -reclaimedTokens(gone.reading));
  }

  const closed = addClosed(changes, agent, result);
  changes.otherWindows.push({ agent, kept: closed });

  const left = new Set(stored.crossings.map((crossing) => crossing.id));
  for (const crossing of result.crossings) {
    left.delete(crossing.id);
    changes.crossings.push({ agent, sessionId: agent.sessionId, crossing });
    if (crossing.up && crossing.threshold === "warning") tally.warnings += 1;
  }
  for (const id of left) changes.crossingDeletes.push({ agent, id });
  changes.agents.push(agentRow(arrived, result.state, tally));
}

/** @returns the indexes of the windows that are over */
function addClosed(changes: Changes, agent: BatchAgent, { state, windows }: FoldResult): number[] {
  const closed = [...windows.values()].filter(({ index }) => index !== state.window?.index);
  for (const window of closed) changes.windows.push({ agent, window });
  return closed.map(({ index }) => index);
}

/** An agent as it is stored, where its fold stands now. */
export function agentRow(
  { agent, known, thresholds }: Arrived,
  state: FoldResult["state"],
  tally: Tally,
): AgentRow {
  return {
    projectId: agent.projectId,
    id: agent.id,
    sessionId: agent.sessionId,
    name: agent.name,
    parent: agent.parent,
    firstAt: agent.firstAt,
    lastAt: agent.lastAt,
    state,
    tally,
    thresholds,
    before: known,
  };
}

function count(
  changes: Changes,
  agent: BatchAgent,
  tally: Tally,
  reading: BoundaryReading,
  times: number,
  reclaimed: number,
): void {
  if (!isBoundary(reading.type)) return;
  tally[TALLY_OF[reading.type]] += times;
  tally.reclaimed += reclaimed;
  changes.rollups.addBoundary(placeOf(agent, reading), times, reclaimed);
}

function recount(
  changes: Changes,
  agent: BatchAgent,
  tally: Tally,
  before: StoredMark | undefined,
  reading: BoundaryReading,
): void {
  if (!isBoundary(reading.type)) return;
  const reclaimed = reclaimedTokens(reading);
  tally[TALLY_OF[reading.type]] += 1;
  tally.reclaimed += reclaimed;
  if (before !== undefined) {
    changes.rollups.addBoundary(placeOf(agent, before.reading), -1, -reclaimedTokens(before.reading));
  }
  changes.rollups.addBoundary(placeOf(agent, reading), 1, reclaimed);
}

function placeOf(agent: BatchAgent, reading: BoundaryReading) {
  return { projectId: agent.projectId, at: reading.at, harness: agent.harness, type: reading.type };
}

function sameReading(a: BoundaryReading, b: BoundaryReading): boolean {
  return (
    a.type === b.type &&
    a.at === b.at &&
    a.window === b.window &&
    a.tokensBefore === b.tokensBefore &&
    a.tokensAfter === b.tokensAfter
  );
}
