import {
  callsOf,
  clearestSplit,
  type KnownCalls,
  MOST_SESSIONS,
  type OutcomeCell,
  type QualityBand,
  type QualitySplit,
  qualityOf,
} from "@plimsoll/fold";
import type { QualityGroupView, QualityQuery, QualityView } from "@plimsoll/protocol/api";
import { familyOf, OUTCOME_SIGNALS, type OutcomeSignal } from "@plimsoll/protocol/pure";
import { Prisma } from "../db/client.ts";
import { unpackOutcomes } from "../db/tables/agent-outcomes.ts";
import type { FreshReader, Reader } from "../lines/reader.ts";
import { iso, spanOf } from "../times.ts";

const MOST_AGENTS = 20_000;
const MOST_GROUPS = 6;

/** Sessions of one kind of harness and one model: the cells of each, the newest first. */
export interface OutcomeGroup {
  harness: string;
  model: string;
  sessions: Map<string, OutcomeCell[]>;
}

/** What came of tool calls in the sessions of a range, by how full the window was. */
export async function readQuality(reader: FreshReader, query: QualityQuery): Promise<QualityView> {
  const { from, to } = spanOf(query);
  const rows = await readStoredCells(reader, { from, to, harness: query.harness });
  const groups = await groupedCells(reader, rows.slice(0, MOST_AGENTS));
  const sums = sumsOf(groups);
  const known = groups
    .filter(({ sessions }) => hasCalls(sessions, query.signal))
    .sort((a, b) => b.sessions.size - a.sessions.size);
  return {
    range: { from: iso(from), to: iso(to) },
    complete: rows.length <= MOST_AGENTS,
    signal: query.signal,
    signals: OUTCOME_SIGNALS.map((signal) => ({
      signal,
      calls: callsOf(sums, signal),
      found: sums.found[signal],
    })),
    groups: known.slice(0, MOST_GROUPS).map((group) => viewOf(group, query.signal)),
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
export async function groupedCells(reader: Reader, rows: readonly StoredCells[]): Promise<OutcomeGroup[]> {
  const models = await reader.prisma.model.findMany({
    where: { projectId: reader.projectId },
    select: { id: true, name: true },
  });
  const names = new Map(models.map(({ id, name }) => [id, name]));
  const groups = new Map<string, OutcomeGroup>();
  for (const { cells, session, harness: instance } of rows) {
    const harness = familyOf(instance);
    for (const [id, own] of unpackOutcomes(cells)) {
      const model = names.get(id) ?? "unknown";
      const key = `${harness}\u0000${model}`;
      const group = groups.get(key) ?? { harness, model, sessions: new Map<string, OutcomeCell[]>() };
      groups.set(key, group);
      const known = group.sessions.get(session);
      if (known === undefined) group.sessions.set(session, [...own]);
      else known.push(...own);
    }
  }
  return [...groups.values()];
}

function sumsOf(groups: readonly OutcomeGroup[]): Pick<OutcomeCell, KnownCalls | "found"> {
  let [calls, judged, compared, tested, asked] = [0, 0, 0, 0, 0];
  // By name: a loop over names takes several times as long, and there may be a hundred thousand cells.
  let [failed, repeated, reedited, failed_tests] = [0, 0, 0, 0];
  let [rejected, corrected, cut_off, retried] = [0, 0, 0, 0];
  for (const { sessions } of groups)
    for (const cells of sessions.values())
      for (const cell of cells) {
        const { found } = cell;
        calls += cell.calls;
        judged += cell.judged;
        compared += cell.compared;
        tested += cell.tested;
        asked += cell.asked;
        failed += found.failed;
        repeated += found.repeated;
        reedited += found.reedited;
        failed_tests += found.failed_tests;
        rejected += found.rejected;
        corrected += found.corrected;
        cut_off += found.cut_off;
        retried += found.retried;
      }
  const found = { failed, repeated, reedited, failed_tests, rejected, corrected, cut_off, retried };
  return { calls, judged, compared, tested, asked, found };
}

const hasCalls = (sessions: OutcomeGroup["sessions"], signal: OutcomeSignal) =>
  [...sessions.values()].some((cells) => cells.some((cell) => callsOf(cell, signal) > 0));

function viewOf({ harness, model, sessions }: OutcomeGroup, signal: OutcomeSignal): QualityGroupView {
  const quality = qualityOf([...sessions.values()].slice(0, MOST_SESSIONS), signal);
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
