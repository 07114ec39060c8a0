import type { FleetStatus, FleetTotals, StatusQuery } from "@plimsoll/protocol";
import { utilizationOf } from "@plimsoll/protocol";
import { Prisma } from "../db/client.ts";
import { slotOf } from "../ingest/slots.ts";
import { coveringBuckets } from "./buckets.ts";
import { liveAgents } from "./fleet.ts";
import { iso, numberOrNull, type Reader, type Span, spanOf } from "./reader.ts";

/** The fleet's totals over a range, beside the period of equal length before it. */
export async function readStatus(reader: Reader, query: StatusQuery): Promise<FleetStatus> {
  const span = spanOf(query);
  const before = { from: span.from - (span.to - span.from), to: span.from };
  const [totals, previous, live, highest, current, any] = await Promise.all([
    readTotals(reader, span, query.harness),
    readTotals(reader, before, query.harness),
    readLive(reader, query.harness),
    readHighestLoad(reader, query.harness),
    readCurrent(reader, query.harness),
    reader.prisma.session.findFirst({ where: { projectId: reader.projectId }, select: { id: true } }),
  ]);
  return {
    generated_at: iso(reader.now),
    range: { from: iso(span.from), to: iso(span.to) },
    has_events: any !== null,
    live,
    highest_load: highest,
    current,
    totals,
    previous,
    thresholds: reader.thresholds,
    threshold_origin: "default",
  };
}

async function readTotals(reader: Reader, span: Span, harness: string | undefined): Promise<FleetTotals> {
  const { prisma, projectId } = reader;
  const ofHarness = harness === undefined ? Prisma.empty : Prisma.sql`AND harness = ${harness}`;
  const from = new Date(span.from);
  const to = new Date(span.to);
  const [[peaks], boundaries, [sessions], [warned]] = await Promise.all([
    prisma.$queryRaw<{ turns: bigint | null; tokens: number | null; utilization: number | null }[]>`
      SELECT sum(turns)::int8 AS turns, max(peak_tokens) AS tokens, max(peak_utilization) AS utilization
      FROM rollups WHERE project_id = ${projectId} AND ${coveringBuckets(span)} ${ofHarness}`,
    prisma.$queryRaw<{ type: string; count: bigint; reclaimed: bigint }[]>`
      SELECT type, sum(count)::int8 AS count, sum(reclaimed)::int8 AS reclaimed
      FROM boundary_rollups WHERE project_id = ${projectId} AND ${coveringBuckets(span)} ${ofHarness} GROUP BY type`,
    prisma.$queryRaw<{ count: bigint }[]>`SELECT count(*) AS count FROM sessions
      WHERE project_id = ${projectId} AND last_slot >= ${slotOf(span.from)} AND last_at >= ${from} AND first_at < ${to} ${ofHarness}`,
    harness === undefined
      ? prisma.$queryRaw<{ count: bigint }[]>`SELECT count(DISTINCT session_id) AS count FROM crossings
          WHERE project_id = ${projectId} AND threshold = 'warning' AND up AND at >= ${from} AND at < ${to}`
      : prisma.$queryRaw<{ count: bigint }[]>`SELECT count(DISTINCT c.session_id) AS count FROM crossings c
          JOIN sessions s ON s.project_id = c.project_id AND s.id = c.session_id
          WHERE c.project_id = ${projectId} AND c.threshold = 'warning' AND c.up AND c.at >= ${from}
            AND c.at < ${to} AND s.harness = ${harness}`,
  ]);
  const counted = new Map(boundaries.map((row) => [row.type, Number(row.count)]));
  return {
    peak_utilization: peaks?.utilization ?? null,
    peak_tokens: peaks?.tokens ?? null,
    sessions: Number(sessions?.count ?? 0),
    sessions_past_warning: Number(warned?.count ?? 0),
    subticks: counted.get("subtick") ?? 0,
    masked: counted.get("masked") ?? 0,
    compacted: counted.get("compacted") ?? 0,
    restarts: counted.get("restarted") ?? 0,
    cleared: counted.get("cleared") ?? 0,
    unexplained: counted.get("unexplained") ?? 0,
    reclaimed_tokens: boundaries.reduce((sum, row) => sum + Number(row.reclaimed), 0),
    turns: numberOrNull(peaks?.turns) ?? 0,
  };
}

async function readLive(reader: Reader, harness: string | undefined): Promise<FleetStatus["live"]> {
  const [row] = await reader.prisma.$queryRaw<{ agents: number; sessions: number; harnesses: number }[]>`
    SELECT count(*)::int4 AS agents, count(DISTINCT s.id)::int4 AS sessions,
      count(DISTINCT s.harness)::int4 AS harnesses
    FROM agents a JOIN sessions s ON s.project_id = a.project_id AND s.id = a.session_id
    WHERE ${liveAgents(reader, harness)}`;
  return row ?? { agents: 0, sessions: 0, harnesses: 0 };
}

async function readHighestLoad(
  reader: Reader,
  harness: string | undefined,
): Promise<FleetStatus["highest_load"]> {
  const [row] = await reader.prisma.$queryRaw<
    { load: number; session_id: string; title: string; agent: string }[]
  >`SELECT a.load, a.session_id, COALESCE(s.title, s.name) AS title, a.name AS agent
    FROM agents a JOIN sessions s ON s.project_id = a.project_id AND s.id = a.session_id
    WHERE ${liveAgents(reader, harness)} AND a.load IS NOT NULL ORDER BY a.load DESC, a.id LIMIT 1`;
  return row ?? null;
}

async function readCurrent(reader: Reader, harness: string | undefined): Promise<FleetStatus["current"]> {
  const [row] = await reader.prisma.$queryRaw<
    {
      session_id: string;
      title: string;
      agent: string;
      context_tokens: number | null;
      window_tokens: number | null;
    }[]
  >`SELECT a.session_id, COALESCE(s.title, s.name) AS title, a.name AS agent, a.current_tokens AS context_tokens,
      a.current_window AS window_tokens
    FROM agents a JOIN sessions s ON s.project_id = a.project_id AND s.id = a.session_id
    WHERE ${liveAgents(reader, harness)} AND a.parent IS NULL ORDER BY a.last_received_at DESC, a.id LIMIT 1`;
  if (row === undefined) return null;
  return {
    ...row,
    utilization: utilizationOf(row.context_tokens ?? undefined, row.window_tokens ?? undefined) ?? null,
  };
}
