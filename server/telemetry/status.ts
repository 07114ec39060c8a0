import type { FleetStatus, FleetTotals, StatusQuery } from "@plimsoll/protocol";
import { utilizationOf } from "@plimsoll/protocol";
import { Prisma } from "../db/client.ts";
import { ALL } from "../store/buckets.ts";
import { activeSessions } from "./active-sessions.ts";
import { coveringBuckets } from "./buckets.ts";
import { readCommonLines } from "./common-lines.ts";
import { liveAgents } from "./fleet.ts";
import { type FreshReader, iso, type Reader, type Span, spanOf } from "./reader.ts";

/** The fleet's totals over a range, beside the period of equal length before it. */
export async function readStatus(reader: FreshReader, query: StatusQuery): Promise<FleetStatus> {
  const span = spanOf(query);
  const before = { from: Math.max(0, span.from - (span.to - span.from)), to: span.from };
  const [totals, previous, now, lines] = await Promise.all([
    readTotals(reader, span, query.harness),
    readTotals(reader, before, query.harness),
    readNow(reader, query.harness),
    readCommonLines(reader, query.harness, span),
  ]);
  return {
    generated_at: iso(reader.now),
    range: { from: iso(span.from), to: iso(span.to) },
    behind: reader.lag.events === 0 ? null : reader.lag,
    ...now,
    totals,
    previous,
    ...lines,
  };
}

interface TotalsRow {
  turns: number | null;
  tokens: number | null;
  utilization: number | null;
  sessions: number;
  warned: number;
  /** By type: how many, and the tokens they reclaimed. */
  boundaries: Record<string, [count: number, reclaimed: number]> | null;
}

async function readTotals(reader: Reader, span: Span, harness: string | undefined): Promise<FleetTotals> {
  const { prisma, projectId } = reader;
  const ofHarness = harness === undefined ? Prisma.empty : Prisma.sql`AND harness = ${harness}`;
  const rollup = Prisma.sql`project_id = ${projectId} AND harness = ${harness ?? ALL} AND ${coveringBuckets(span)}`;
  const [row] = await prisma.$queryRaw<TotalsRow[]>`
    SELECT r.*, active.*,
      (SELECT json_object_agg(type, json_build_array(count, reclaimed)) FROM (
         SELECT type, sum(count) AS count, sum(reclaimed) AS reclaimed FROM boundary_rollups WHERE ${rollup}
         GROUP BY type) b) AS boundaries
    FROM (
      SELECT sum(turns)::float8 AS turns, max(peak_tokens) AS tokens, max(peak_utilization) AS utilization
      FROM rollups WHERE ${rollup}
    ) r CROSS JOIN (${activeSessions(projectId, span, ofHarness)}) active`;
  const boundaries = row?.boundaries ?? {};
  const counted = (type: string) => boundaries[type]?.[0] ?? 0;
  return {
    peak_utilization: row?.utilization ?? null,
    peak_tokens: row?.tokens ?? null,
    sessions: row?.sessions ?? 0,
    sessions_past_warning: row?.warned ?? 0,
    subticks: counted("subtick"),
    masked: counted("masked"),
    compacted: counted("compacted"),
    restarts: counted("restarted"),
    cleared: counted("cleared"),
    unexplained: counted("unexplained"),
    reclaimed_tokens: Object.values(boundaries).reduce((sum, [, reclaimed]) => sum + reclaimed, 0),
    turns: row?.turns ?? 0,
  };
}

interface NowRow {
  has_events: boolean;
  agents: number;
  sessions: number;
  harnesses: number;
  highest: FleetStatus["highest_load"];
  current: Omit<NonNullable<FleetStatus["current"]>, "utilization"> | null;
}

/** What is said of the live agents together: how many, which is nearest to its line, which was heard from last. */
async function readNow(
  reader: Reader,
  harness: string | undefined,
): Promise<Pick<FleetStatus, "has_events" | "live" | "highest_load" | "current">> {
  const rows = await reader.prisma.$queryRaw<NowRow[]>`
    WITH live AS MATERIALIZED (
      SELECT a.id, a.session_id, COALESCE(s.title, s.name) AS title, a.name AS agent, a.parent, a.load, s.harness,
        a.current_tokens AS context_tokens, a.current_window AS window_tokens, a.last_received_at
      FROM agents a JOIN sessions s ON s.project_id = a.project_id AND s.id = a.session_id
      WHERE ${liveAgents(reader, harness)}
    )
    SELECT EXISTS (SELECT 1 FROM sessions WHERE project_id = ${reader.projectId} AND deleted_at IS NULL) AS has_events,
      count(*)::int4 AS agents, count(DISTINCT session_id)::int4 AS sessions,
      count(DISTINCT harness)::int4 AS harnesses,
      (SELECT row_to_json(h) FROM (SELECT load, session_id, title, agent FROM live WHERE load IS NOT NULL
         ORDER BY load DESC, id LIMIT 1) h) AS highest,
      (SELECT row_to_json(c) FROM (SELECT session_id, title, agent, context_tokens, window_tokens FROM live
         WHERE parent IS NULL ORDER BY last_received_at DESC, id LIMIT 1) c) AS current
    FROM live`;
  const { has_events, agents, sessions, harnesses, highest, current } = rows[0]!;
  return {
    has_events,
    live: { agents, sessions, harnesses },
    highest_load: highest,
    current: current && {
      ...current,
      utilization:
        utilizationOf(current.context_tokens ?? undefined, current.window_tokens ?? undefined) ?? null,
    },
  };
}
