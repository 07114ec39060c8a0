import {
  type BoundaryReading,
  type FoldOptions,
  isBoundary,
  normaliseUsage,
  reclaimedTokens,
  type Summary,
  type TurnReading,
  thresholdsAtLevel,
  type WindowSummary,
} from "@plimsoll/fold";
import type { CrossingOrigin } from "@plimsoll/protocol/events";
import { lineOf, loadOf } from "@plimsoll/protocol/policy";
import { type AgentRow, EMPTY_TALLY, TALLY_OF, type Tally } from "../../db/tables/agents.ts";
import type { BoundaryRow } from "../../db/tables/boundaries.ts";
import { sourceCode, stopReasonCode, stopReasonOfCode } from "../../db/tables/codes.ts";
import type { CrossingRow } from "../../db/tables/crossings.ts";
import { packStored, type StoredState } from "../../db/tables/packed-state.ts";
import type { SegmentRow } from "../../db/tables/segments.ts";
import type { BlockKey, BlockStretch, TurnBlock } from "../../db/tables/turn-blocks.ts";
import { costMicros, estimatedCostMicros } from "../../db/tables/turns.ts";
import type { WindowRow } from "../../db/tables/windows.ts";
import { smallerName } from "./agent-address.ts";
import type { ArrivedAgent } from "./group-events.ts";
import { KnownKeys } from "./known-keys.ts";
import { laterStop, type Stop, stopOfLatestCall } from "./latest-stop.ts";

/** Turns after which a segment is cut: a late event costs a fold of about so many. */
export const SEGMENT_TURNS = 256;

/** Turns and marks after which a refold stops, to go on in a transaction of its own. */
export const REFOLD_EVENTS = 4_096;

/** An agent as the projector remembers it. */
export interface KnownAgent {
  /** Without `state`, which `stored` holds. */
  row: AgentRow;
  /** Undefined after the state was dropped: it is folded again from the last cut. */
  stored: StoredState | undefined;
  /** Of all its stored turns and marks. */
  keys: KnownKeys;
}

/** What the fold of one agent needs from outside. */
export interface AgentOptions {
  fold: FoldOptions;
  modelId: (name: string) => number;
  /** Turns after which a segment is cut; `SEGMENT_TURNS` but in tests. */
  segmentTurns: number;
  /** `REFOLD_EVENTS` but in tests. */
  refoldEvents: number;
  /** For an agent that is new. */
  nextNumber: () => number;
}

/** What a batch of events changes in one agent. */
export interface AgentChanges {
  harness: string;
  /** Undefined for an agent that is new. */
  before: AgentRow | undefined;
  after: KnownAgent;
  rows: RowChanges;
  /** The summary of the events that continued the history; undefined if it was folded again, or cut. */
  run: Summary | undefined;
}

/** What changes in the other rows of an agent, by table, and what that adds to the rollups. */
export interface RowChanges {
  blocks: {
    deletes: BlockKey[];
    /** New blocks, and blocks in the place of deleted ones. */
    inserts: TurnBlock[];
    /** Segments that are over: the blocks of each become one. */
    joins: BlockStretch[];
  };
  boundaries: {
    deletes: string[];
    /** New marks and falls. The insert fails if an id is stored after all. */
    inserts: BoundaryRow[];
    /** Stored marks and falls that read differently now. */
    upserts: BoundaryRow[];
    /** Marks of earlier batches whose level a new turn shows. */
    settled: BoundaryReading[];
  };
  crossings: {
    deletes: string[];
    upserts: CrossingRow[];
    /** To change after the upserts. By crossing id. */
    origins: Map<string, CrossingOrigin>;
  };
  windows: { deletes: number[]; upserts: WindowRow[] };
  segments: { deletes: number[]; upserts: SegmentRow[] };
  turns: { added: TurnReading[]; replaced: { before: TurnReading; after: TurnReading }[] };
  boundaryCounts: { reading: BoundaryReading; count: 1 | -1 }[];
}

export function noRows(): RowChanges {
  return {
    blocks: { deletes: [], inserts: [], joins: [] },
    boundaries: { deletes: [], inserts: [], upserts: [], settled: [] },
    crossings: { deletes: [], upserts: [], origins: new Map() },
    windows: { deletes: [], upserts: [] },
    segments: { deletes: [], upserts: [] },
    turns: { added: [], replaced: [] },
    boundaryCounts: [],
  };
}

/** Adds changes in another part of the history. */
export function addRows(to: RowChanges, more: RowChanges): void {
  for (const table of ["blocks", "boundaries", "windows", "segments", "turns"] as const)
    addLists(to[table], more[table]);
  addAll(to.crossings.deletes, more.crossings.deletes);
  addAll(to.crossings.upserts, more.crossings.upserts);
  for (const [id, origin] of more.crossings.origins) to.crossings.origins.set(id, origin);
  addAll(to.boundaryCounts, more.boundaryCounts);
}

function addLists<Lists extends { [Name in keyof Lists]: unknown[] }>(to: Lists, more: Lists): void {
  for (const name of Object.keys(more) as (keyof Lists)[]) addAll(to[name], more[name]);
}

/** One by one: a call has no room for as many arguments as a history has turns. */
function addAll<Item>(to: Item[], more: readonly Item[]): void {
  for (const item of more) to.push(item);
}

/** The sums of an agent's whole history. */
export interface AgentTotals extends Pick<Summary, "turns" | "peak" | "peakUtilization"> {
  windows: number;
}

export function totalsOf(row: AgentRow | undefined): AgentTotals {
  if (row === undefined) return { turns: 0, windows: 0, peak: undefined, peakUtilization: undefined };
  const { turns, windows, peakTokens, peakWindow, peakUtilization, peakAt } = row;
  const peak =
    peakTokens === undefined || peakAt === undefined
      ? undefined
      : { tokens: peakTokens, windowTokens: peakWindow, at: peakAt };
  return { turns, windows, peak, peakUtilization };
}

export function tallyOf(row: AgentRow | undefined): Tally {
  if (row === undefined) return { ...EMPTY_TALLY };
  return {
    masked: row.masked,
    compacted: row.compacted,
    subticks: row.subticks,
    restarts: row.restarts,
    cleared: row.cleared,
    unexplained: row.unexplained,
    reclaimed: row.reclaimed,
    warnings: row.warnings,
    promptTokens: row.promptTokens,
    cachedTokens: row.cachedTokens,
    estimatedTokens: row.estimatedTokens,
    costMicros: row.costMicros,
    costTurns: row.costTurns,
    estimatedCostMicros: row.estimatedCostMicros,
    estimatedCostTurns: row.estimatedCostTurns,
  };
}

/** The tally after more turns, and after turns that read differently. */
export function countTurns(tally: Tally, { added, replaced }: RowChanges["turns"]): Tally {
  const sum = { ...tally };
  for (const reading of added) addTurn(sum, reading, 1);
  for (const { before, after } of replaced) {
    addTurn(sum, before, -1);
    addTurn(sum, after, 1);
  }
  return sum;
}

/** A repeat of a call counts nothing. */
function addTurn(sum: Tally, { turn, isRepeat }: TurnReading, count: 1 | -1): void {
  if (isRepeat) return;
  const usage = normaliseUsage(turn.usage);
  const { fresh = 0, cacheRead = 0, cacheWrite = 0 } = usage;
  const prompt = fresh + cacheRead + cacheWrite;
  sum.promptTokens += count * prompt;
  sum.cachedTokens += count * cacheRead;
  if (turn.estimated) sum.estimatedTokens += count * prompt;
  const cost = costMicros(turn);
  if (cost !== undefined) {
    sum.costMicros += count * cost;
    sum.costTurns += count;
    return;
  }
  const estimate = estimatedCostMicros(turn, usage);
  if (estimate === undefined) return;
  sum.estimatedCostMicros += count * estimate;
  sum.estimatedCostTurns += count;
}

/** The tally after one more, or one less, of a boundary. */
export function countBoundary(tally: Tally, reading: BoundaryReading, count: 1 | -1): Tally {
  if (!isBoundary(reading.type)) return tally;
  const field = TALLY_OF[reading.type];
  return {
    ...tally,
    [field]: tally[field] + count,
    reclaimed: tally.reclaimed + count * reclaimedTokens(reading),
  };
}

/** Who an agent is, whatever its events say of its level. */
export type AgentIdentity = Pick<
  ArrivedAgent,
  "id" | "name" | "ownSession" | "parent" | "firstAt" | "lastAt" | "receivedAt" | "stopped"
> & {
  sessionId: string;
};

/** The row of an agent at the end of its history. */
export function knownAgent(
  identity: AgentIdentity,
  before: KnownAgent | undefined,
  after: { stored: StoredState; totals: AgentTotals; tally: Tally },
  { fold, nextNumber }: Pick<AgentOptions, "fold" | "nextNumber">,
): KnownAgent {
  const { stored, totals, tally } = after;
  const { state } = stored;
  const row = before?.row;
  const stop = stopOfLatestCall(laterStop(stopOfRow(row), identity.stopped), state.lastTurnAt);
  return {
    stored,
    keys: before?.keys ?? KnownKeys.empty(),
    row: {
      id: identity.id,
      number: row?.number ?? nextNumber(),
      version: (row?.version ?? 0) + 1,
      sessionId: identity.sessionId,
      name: identity.name,
      ownSession: identity.ownSession,
      // A sub-agent with a session of its own has the parent of its address.
      parent: identity.ownSession === undefined ? smallerName(row?.parent, identity.parent) : identity.parent,
      model: state.model,
      firstAt: Math.min(row?.firstAt ?? identity.firstAt, identity.firstAt),
      lastAt: Math.max(row?.lastAt ?? identity.lastAt, identity.lastAt),
      lastReceivedAt: Math.max(row?.lastReceivedAt ?? identity.receivedAt, identity.receivedAt),
      firstReceivedAt: row?.firstReceivedAt ?? identity.receivedAt,
      turns: totals.turns,
      windows: totals.windows,
      ...tally,
      currentTokens: state.current,
      currentWindow: state.windowTokens,
      windowSource: sourceCode(state.windowSource),
      load: loadOf(state.current, lineOf(thresholdsAtLevel(state, fold.thresholds), state.windowTokens)),
      peakTokens: totals.peak?.tokens,
      peakWindow: totals.peak?.windowTokens,
      peakUtilization: totals.peakUtilization,
      peakAt: totals.peak?.at,
      stoppedAt: stop?.at,
      stopReason: stop && stopReasonCode(stop.reason),
      state: undefined,
      hasState: true,
      uncounted: true,
    },
  };
}

function stopOfRow(row: AgentRow | undefined): Stop | undefined {
  if (row?.stoppedAt === undefined || row.stopReason === undefined) return undefined;
  return { at: row.stoppedAt, reason: stopReasonOfCode(row.stopReason) };
}

/** The row as it is written. */
export function rowWithState({ row, stored }: KnownAgent): AgentRow {
  return { ...row, state: stored && packStored(stored), hasState: stored !== undefined };
}

export function windowRow(agentId: string, window: WindowSummary): WindowRow {
  return { agentId, ...window };
}

/** The changes of two steps, one after the other. */
export function joinChanges(first: AgentChanges, second: AgentChanges): AgentChanges {
  const rows = noRows();
  addRows(rows, first.rows);
  addRows(rows, second.rows);
  const upserts = new Map(first.rows.crossings.upserts.map((row) => [row.id, row]));
  for (const id of second.rows.crossings.deletes) upserts.delete(id);
  for (const row of second.rows.crossings.upserts) upserts.set(row.id, row);
  rows.crossings.upserts = [...upserts.values()];
  const { version } = first.after.row;
  const after = { ...second.after, row: { ...second.after.row, version } };
  return { ...second, before: first.before, after, rows };
}
