import {
  callsOf,
  clearestSplit,
  type KnownCalls,
  noSignals,
  type OutcomeCell,
  type QualityBand,
  type QualitySplit,
  qualityOf,
  SignalCells,
} from "@plimsoll/fold";
import type { QualityGroupView, QualityQuery, QualityView } from "@plimsoll/protocol/api";
import { familyOf, OUTCOME_SIGNALS, type OutcomeSignal } from "@plimsoll/protocol/pure";
import { Prisma } from "../db/client.ts";
import { visitOutcomes } from "../db/tables/agent-outcomes.ts";
import type { FreshReader, Reader } from "../lines/reader.ts";
import { iso, spanOf } from "../times.ts";

const MOST_AGENTS = 20_000;
const MOST_GROUPS = 6;

/** Sessions of one kind of harness and one model, the newest first. */
export interface OutcomeGroup {
  harness: string;
  model: string;
  cells: SignalCells;
}

/** All calls, and all signals that they showed. */
type OutcomeSums = Pick<OutcomeCell, KnownCalls | "found">;

/** What came of tool calls in the sessions of a range, by how full the window was. */
export async function readQuality(reader: FreshReader, query: QualityQuery): Promise<QualityView> {
  const { from, to } = spanOf(query);
  const rows = await readStoredCells(reader, { from, to, harness: query.harness });
  const { groups, sums } = await groupedCells(reader, rows.slice(0, MOST_AGENTS), query.signal);
  const known = groups.filter(({ cells }) => cells.hasCalls).sort((a, b) => b.cells.size - a.cells.size);
  return {
    range: { from: iso(from), to: iso(to) },
    complete: rows.length <= MOST_AGENTS,
    signal: query.signal,
    signals: OUTCOME_SIGNALS.map((signal) => ({
      signal,
      calls: callsOf(sums, signal),
      found: sums.found[signal],
    })),
    groups: known.slice(0, MOST_GROUPS).map(viewOf),
    more: Math.max(0, known.length - MOST_GROUPS),
  };
}

export interface StoredCells {
  cells: Uint8Array;
  session: string;
  harness: string;
  /** When the session began: epoch ms. */
  began: number;
}

interface StoredRange {
  /** Epoch ms. */
  from: number;
  to: number;
  harness?: string | undefined;
  /** Only of sessions that began and ended in the range. */
  whole?: boolean;
}

/** Agents that were active in a range, the latest first: one more than is read of them if there are more. */
export function readStoredCells(reader: Reader, range: StoredRange): Promise<StoredCells[]> {
  const { from, to, harness, whole = false } = range;
  const { projectId } = reader;
  const ofHarness = harness === undefined ? Prisma.empty : Prisma.sql`AND s.harness = ${harness}`;
  const ofWhole = whole
    ? Prisma.sql`AND s.first_at >= ${new Date(from)} AND s.last_at < ${new Date(to)}`
    : Prisma.empty;
  return reader.prisma.$queryRaw<StoredCells[]>`
    SELECT o.cells, a.session_id::text AS session, s.harness, (extract(epoch FROM s.first_at) * 1000)::float8 AS began
    FROM agent_outcomes o
    JOIN agents a ON a.project_id = ${projectId} AND a.number = o.agent AND a.first_at < ${new Date(to)}
    JOIN sessions s ON s.project_id = ${projectId} AND s.id = a.session_id AND s.deleted_at IS NULL ${ofHarness} ${ofWhole}
    WHERE o.project_id = ${projectId} AND o.last_at >= ${new Date(from)} AND length(o.cells) > 1
    ORDER BY o.last_at DESC, o.agent DESC LIMIT ${MOST_AGENTS + 1}`;
}

/** Sub-agents are part of their session: what a person asked for is hard for all of them. */
export async function groupedCells(
  reader: Reader,
  rows: readonly StoredCells[],
  signal: OutcomeSignal,
): Promise<{ groups: OutcomeGroup[]; sums: OutcomeSums }> {
  const models = await reader.prisma.model.findMany({
    where: { projectId: reader.projectId },
    select: { id: true, name: true },
  });
  const names = new Map(models.map(({ id, name }) => [id, name]));
  const groups = new Map<string, OutcomeGroup>();
  const sums: OutcomeSums = { calls: 0, judged: 0, compared: 0, tested: 0, asked: 0, found: noSignals() };
  for (const { cells, session, harness: instance } of rows) {
    const harness = familyOf(instance);
    let last = -1;
    let group: OutcomeGroup;
    let number: number;
    visitOutcomes(cells, (id, cell) => {
      if (id !== last) {
        last = id;
        group = groupOf(groups, harness, names.get(id) ?? "unknown");
        number = group.cells.session(session);
      }
      group.cells.add(number, cell, callsOf(cell, signal), cell.found[signal]);
      addCell(sums, cell);
    });
  }
  return { groups: [...groups.values()], sums };
}

function groupOf(groups: Map<string, OutcomeGroup>, harness: string, model: string): OutcomeGroup {
  const key = `${harness}\u0000${model}`;
  let group = groups.get(key);
  if (group === undefined) {
    group = { harness, model, cells: new SignalCells() };
    groups.set(key, group);
  }
  return group;
}

function addCell(sums: OutcomeSums, cell: OutcomeCell): void {
  const { found } = cell;
  sums.calls += cell.calls;
  sums.judged += cell.judged;
  sums.compared += cell.compared;
  sums.tested += cell.tested;
  sums.asked += cell.asked;
  // By name: a loop over names takes several times as long, and there may be a hundred thousand cells.
  sums.found.failed += found.failed;
  sums.found.repeated += found.repeated;
  sums.found.reedited += found.reedited;
  sums.found.failed_tests += found.failed_tests;
  sums.found.rejected += found.rejected;
  sums.found.corrected += found.corrected;
  sums.found.cut_off += found.cut_off;
  sums.found.retried += found.retried;
}

function viewOf({ harness, model, cells }: OutcomeGroup): QualityGroupView {
  const quality = qualityOf(cells);
  const clearest = clearestSplit(quality.levelSplits);
  return {
    ...{ harness, model, sessions: quality.sessions, calls: quality.calls },
    rate: quality.rate ?? null,
    levels: quality.levels.map(bandView),
    shares: quality.shares.map(bandView),
    level_splits: quality.levelSplits.map(splitView),
    share_splits: quality.shareSplits.map(splitView),
    clearest: clearest === undefined ? null : splitView(clearest),
  };
}

const bandView = ({ from, to, sessions, calls, rate, expectedRate }: QualityBand) => ({
  ...{ from, to: to ?? null, sessions, calls },
  rate: rate ?? null,
  expected_rate: expectedRate ?? null,
});

const splitView = ({ at, sessions, rateBelow, difference, low, high, verdict }: QualitySplit) => ({
  ...{ at, sessions, rate_below: rateBelow, difference, low, high, verdict },
});
