import { percentile, utilizationOf } from "@plimsoll/fold";
import type { FleetStatus, FleetTotals, StatusQuery, SuspectSession } from "@plimsoll/protocol/api";
import { Prisma } from "../db/client.ts";
import { queriesOf } from "../db/sql.ts";
import { ALL, slotOf } from "../db/tables/buckets.ts";
import { sourceOf } from "../db/tables/codes.ts";
import { readObservedWindows } from "../db/tables/observed-windows.ts";
import type { FreshReader, Reader } from "../lines/reader.ts";
import { iso, type Span, spanOf } from "../times.ts";
import { activeSessions } from "./active-sessions.ts";
import { sumBins } from "./bins.ts";
import { coveringBuckets, piecesOf, rollupsIn } from "./buckets.ts";
import { readCommonLines } from "./common-lines.ts";
import { liveAgents } from "./fleet.ts";
import { activeAtSql, LIVE_FOR } from "./liveness.ts";
import { BINS_WITHIN, PEAK_BY_BIN, PEAK_EXACTLY, PEAK_WITHIN, peakWithin } from "./peak-within.ts";

/** The fleet's totals over a range, beside the period of equal length before it. */
export async function readStatus(reader: FreshReader, query: StatusQuery): Promise<FleetStatus> {
  const span = spanOf(query);
  const before = { from: Math.max(0, span.from - (span.to - span.from)), to: span.from };
  const [totals, previous, now, earlier, suspects, lines] = await Promise.all([
    readTotals(reader, span, query.harness),
    readTotals(reader, before, query.harness),
    readNow(reader, query.harness),
    readUtilization(reader, { from: Math.max(0, span.from - LIVE_FOR), to: span.from }, query.harness),
    readSuspects(reader, span, query.harness),
    readCommonLines(reader, query.harness, span),
  ]);
  return {
    generated_at: iso(reader.now),
    range: { from: iso(span.from), to: iso(span.to) },
    behind: reader.lag.events === 0 ? null : reader.lag,
    ...now,
    utilization_before: { highest: earlier.highest, median: earlier.median },
    suspects,
    totals,
    previous,
    ...lines,
  };
}

/** The rows of `rollups` that make up a span. */
function rollupRows(reader: Reader, span: Span, harness: string | undefined): Prisma.Sql {
  return rollupsIn(reader, Prisma.sql`harness = ${harness ?? ALL}`, piecesOf(span));
}

/** The highest, the median and the 95th percentile of the utilization of the turns in a span. */
export async function readUtilization(
  reader: Reader,
  span: Span,
  harness: string | undefined,
): Promise<FleetStatus["utilization_before"] & { p95: number | null }> {
  const [row] = await reader.prisma.$queryRaw<{ highest: number | null; bins: string | null }[]>`
    SELECT ${PEAK_WITHIN} AS highest, string_agg(bins::text, ' ') AS bins
    FROM ${rollupRows(reader, span, harness)} WHERE turns > 0`;
  const highest = row?.highest ?? null;
  const bins = sumBins(row?.bins ?? "").slice(0, BINS_WITHIN);
  const share = (part: number) => percentile(bins, part, highest ?? undefined) ?? null;
  return { highest, median: share(0.5), p95: share(0.95) };
}

const MOST_SUSPECTS = 5;

/** The sessions of a span with a level above their window size. Few, and found by the index on coarse peaks. */
async function readSuspects(
  { prisma, projectId }: Reader,
  span: Span,
  harness: string | undefined,
): Promise<FleetStatus["suspects"]> {
  const ofHarness = harness === undefined ? Prisma.empty : Prisma.sql`AND s.harness = ${harness}`;
  const rows = await prisma.$queryRaw<
    (Omit<SuspectSession, "window_source" | "offer"> & { count: number; source: number })[]
  >`
    SELECT s.id AS session_id, COALESCE(s.title, s.name) AS title, s.harness, s.count,
      a.model, a.peak_tokens, a.peak_window AS window_tokens, a.window_source AS source
    FROM (
      SELECT s.*, (count(*) OVER ())::int4 AS count FROM sessions s
      WHERE s.project_id = ${projectId} AND s.peak_bin >= ${BINS_WITHIN} AND s.peak_utilization > 1 AND s.deleted_at IS NULL
        AND s.last_at >= ${new Date(span.from)} AND s.first_at < ${new Date(span.to)} ${ofHarness}
      ORDER BY s.last_at DESC, s.id LIMIT ${MOST_SUSPECTS}
    ) s CROSS JOIN LATERAL (
      SELECT * FROM agents a WHERE a.project_id = ${projectId} AND a.session_id = s.id
        AND a.peak_tokens IS NOT NULL AND a.peak_window IS NOT NULL
      ORDER BY a.peak_utilization DESC NULLS LAST, a.id LIMIT 1
    ) a ORDER BY s.last_at DESC, s.id`;
  const observed =
    rows.length === 0 ? undefined : await readObservedWindows(queriesOf({ prisma }), projectId);
  return {
    count: rows[0]?.count ?? 0,
    sessions: rows.map(({ count: _, source, ...row }) => {
      const window_source = sourceOf(source);
      const offer = row.model === null ? undefined : observed?.offerAbove(row.model, row.peak_tokens);
      return { ...row, window_source, offer: offer ?? null };
    }),
  };
}

interface TotalsRow {
  turns: number | null;
  tokens: number | null;
  exactly: number | null;
  by_bin: number | null;
  sessions: number;
  warned: number;
  /** By type: how many, and the tokens they reclaimed. */
  boundaries: Record<string, [count: number, reclaimed: number]> | null;
}

export async function readTotals(
  reader: Reader,
  span: Span,
  harness: string | undefined,
): Promise<FleetTotals> {
  const { prisma, projectId } = reader;
  const ofHarness = harness === undefined ? Prisma.empty : Prisma.sql`AND harness = ${harness}`;
  const [row] = await prisma.$queryRaw<TotalsRow[]>`
    SELECT r.*, active.*,
      (SELECT json_object_agg(type, json_build_array(count, reclaimed)) FROM (
         SELECT type, sum(count) AS count, sum(reclaimed) AS reclaimed FROM boundary_rollups
         WHERE project_id = ${projectId} AND harness = ${harness ?? ALL} AND ${coveringBuckets(span)}
         GROUP BY type) b) AS boundaries
    FROM (
      SELECT sum(turns)::float8 AS turns, max(peak_tokens) AS tokens,
        ${PEAK_EXACTLY} AS exactly, ${PEAK_BY_BIN} AS by_bin
      FROM ${rollupRows(reader, span, harness)}
    ) r CROSS JOIN (${activeSessions(projectId, span, ofHarness)}) active`;
  const ofSessions =
    row === undefined || row.by_bin === null ? null : await readPeakOfSessions(reader, span, ofHarness);
  const boundaries = row?.boundaries ?? {};
  const counted = (type: string) => boundaries[type]?.[0] ?? 0;
  return {
    peak_utilization: peakWithin(row?.exactly ?? null, row?.by_bin ?? null, ofSessions),
    peak_tokens: row?.tokens ?? null,
    sessions: row?.sessions ?? 0,
    sessions_past_warning: row?.warned ?? 0,
    subticks: counted("subtick"),
    masked: counted("masked"),
    masked_tokens: boundaries.masked?.[1] ?? 0,
    compacted: counted("compacted"),
    restarts: counted("restarted"),
    cleared: counted("cleared"),
    unexplained: counted("unexplained"),
    reclaimed_tokens: Object.values(boundaries).reduce((sum, [, reclaimed]) => sum + reclaimed, 0),
    turns: row?.turns ?? 0,
  };
}

/** The highest utilization up to 1 of the sessions that lie in a span, exactly. */
async function readPeakOfSessions(
  { prisma, projectId }: Reader,
  { from, to }: Span,
  ofHarness: Prisma.Sql,
): Promise<number | null> {
  const [row] = await prisma.$queryRaw<{ peak: number | null }[]>`
    SELECT max(peak_utilization) AS peak FROM sessions
    WHERE project_id = ${projectId} AND peak_utilization <= 1 AND deleted_at IS NULL
      AND last_slot >= ${slotOf(from)} AND first_at >= ${new Date(from)} AND last_at < ${new Date(to)} ${ofHarness}`;
  return row?.peak ?? null;
}

interface NowRow {
  has_events: boolean;
  agents: number;
  sessions: number;
  harnesses: number;
  highest: FleetStatus["highest_load"];
  current: Omit<NonNullable<FleetStatus["current"]>, "utilization"> | null;
  fullest: (NonNullable<FleetStatus["utilization_now"]["agent"]> & { utilization: number }) | null;
  median: number | null;
}

/** What is said of the live agents together: how many, which is nearest to its line, which was heard from last. */
async function readNow(
  reader: Reader,
  harness: string | undefined,
): Promise<Pick<FleetStatus, "has_events" | "live" | "utilization_now" | "highest_load" | "current">> {
  const rows = await reader.prisma.$queryRaw<NowRow[]>`
    WITH live AS MATERIALIZED (
      SELECT a.id, a.session_id, COALESCE(s.title, s.name) AS title, a.name AS agent, a.parent, a.load, s.harness,
        a.current_tokens AS context_tokens, a.current_window AS window_tokens, ${activeAtSql("a")} AS active_at,
        a.current_tokens::float8 / NULLIF(a.current_window, 0) AS utilization
      FROM agents a JOIN sessions s ON s.project_id = a.project_id AND s.id = a.session_id
      WHERE ${liveAgents(reader, { harness })}
    )
    SELECT EXISTS (SELECT 1 FROM sessions WHERE project_id = ${reader.projectId} AND deleted_at IS NULL) AS has_events,
      count(*)::int4 AS agents, count(DISTINCT session_id)::int4 AS sessions,
      count(DISTINCT harness)::int4 AS harnesses,
      (SELECT row_to_json(h) FROM (SELECT load, session_id, title, agent FROM live
         WHERE load IS NOT NULL AND COALESCE(utilization, 0) <= 1 ORDER BY load DESC, id LIMIT 1) h) AS highest,
      (SELECT row_to_json(f) FROM (SELECT utilization, session_id, id AS agent_id, title, agent FROM live
         WHERE utilization <= 1 ORDER BY utilization DESC, id LIMIT 1) f) AS fullest,
      percentile_cont(0.5) WITHIN GROUP (ORDER BY utilization) FILTER (WHERE utilization <= 1) AS median,
      (SELECT row_to_json(c) FROM (SELECT session_id, title, agent, context_tokens, window_tokens FROM live
         WHERE parent IS NULL ORDER BY active_at DESC, id LIMIT 1) c) AS current
    FROM live`;
  const { has_events, agents, sessions, harnesses, highest, current, fullest, median } = rows[0]!;
  return {
    has_events,
    live: { agents, sessions, harnesses },
    utilization_now: {
      highest: fullest?.utilization ?? null,
      median,
      agent: fullest && {
        session_id: fullest.session_id,
        agent_id: fullest.agent_id,
        title: fullest.title,
        agent: fullest.agent,
      },
    },
    highest_load: highest,
    current: current && {
      ...current,
      utilization:
        utilizationOf(current.context_tokens ?? undefined, current.window_tokens ?? undefined) ?? null,
    },
  };
}
