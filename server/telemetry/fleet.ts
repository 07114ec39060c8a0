import type { FleetAgent, FleetQuery, FleetView } from "@plimsoll/protocol";
import { Prisma } from "../db/client.ts";
import { slotOf } from "../ingest/slots.ts";
import { iso, LIVE_FOR, type Reader } from "./reader.ts";
import { type AgentFacts, agentView } from "./views.ts";

/** The condition on `agents a` joined with `sessions s` under which an agent is live. */
export function liveAgents({ projectId, now }: Reader, harness: string | undefined): Prisma.Sql {
  const since = now - LIVE_FOR;
  const ofHarness = harness === undefined ? Prisma.empty : Prisma.sql`AND s.harness = ${harness}`;
  return Prisma.sql`s.project_id = ${projectId} AND s.seen_slot >= ${slotOf(since)}
    AND a.last_received_at > ${new Date(since)} AND a.turns > 0
    AND (s.ended_at IS NULL OR s.last_at > s.ended_at) ${ofHarness}`;
}

interface Row extends AgentFacts {
  session: string;
  title: string | null;
  kind: FleetAgent["kind"];
  harness: string;
  /** Live agents in all, beyond the limit too. */
  total: number;
  placeType: string | null;
  placeDetail: Record<string, unknown> | null;
}

/**
 * Every live agent against its own lines, the one nearest to its line first. One statement: it is asked whenever
 * anything changes. An agent's place is what it was last said to be at: `tick 4.2`, `session 3`, `phase 20a`.
 */
export async function readFleet(reader: Reader, query: FleetQuery): Promise<FleetView> {
  const { projectId } = reader;
  const order = Prisma.sql`load DESC NULLS LAST, "lastReceivedAt" DESC, id`;
  const rows = await reader.prisma.$queryRaw<Row[]>`
    SELECT f.*, p.type AS "placeType", p.detail AS "placeDetail" FROM (
      SELECT a.id, a.session_id AS "sessionId", a.name, a.parent, a.model, a.turns, a.windows, a.load, a.state,
        a.current_tokens AS "currentTokens", a.current_window AS "currentWindow", a.window_source AS "windowSource",
        a.peak_tokens AS "peakTokens", a.peak_window AS "peakWindow", a.peak_at AS "peakAt",
        a.first_at AS "firstAt", a.last_at AS "lastAt", a.last_received_at AS "lastReceivedAt",
        s.name AS session, s.title, s.kind, s.harness, (count(*) OVER ())::int4 AS total
      FROM agents a JOIN sessions s ON s.project_id = a.project_id AND s.id = a.session_id
      WHERE ${liveAgents(reader, query.harness)} ORDER BY ${order} LIMIT ${query.limit}
    ) f LEFT JOIN LATERAL (
      SELECT b.type, b.detail FROM boundaries b WHERE b.project_id = ${projectId} AND b.agent_id = f.id
        AND b.type IN ('subtick', 'restarted', 'phase') AND b.origin = 0
      ORDER BY b.at DESC, b.id DESC LIMIT 1
    ) p ON true ORDER BY ${order}`;
  return {
    generated_at: iso(reader.now),
    agents: rows.map((row) => fleetAgent(reader, row)),
    more: Math.max(0, (rows[0]?.total ?? 0) - rows.length),
  };
}

function fleetAgent(reader: Reader, row: Row): FleetAgent {
  const { session, title, kind, harness, placeType, placeDetail } = row;
  return {
    ...agentView(row, reader.thresholds),
    session,
    title,
    kind,
    harness,
    place: placeType === null ? null : placeText(placeType, placeDetail ?? {}),
  };
}

function placeText(type: string, detail: Record<string, unknown>): string {
  if (type === "subtick") return `tick ${detail.tick}.${detail.sub}`;
  return type === "restarted" ? `session ${detail.number}` : `phase ${detail.phase}`;
}
