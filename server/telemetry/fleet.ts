import type {
  FleetAgent,
  FleetPart,
  FleetPartQuery,
  FleetQuery,
  FleetView,
  ThresholdTimeline,
} from "@plimsoll/protocol";
import { Prisma } from "../db/client.ts";
import { readTimelines } from "../policy/reader-timelines.ts";
import { slotOf } from "../store/buckets.ts";
import { type FreshReader, iso, LIVE_FOR, type Reader } from "./reader.ts";
import { type AgentFacts, agentView, judgedAt } from "./views.ts";

/** The condition on `agents a` joined with `sessions s` under which an agent is live. */
export function liveAgents({ projectId, now }: Reader, harness: string | undefined): Prisma.Sql {
  const since = now - LIVE_FOR;
  const ofHarness = harness === undefined ? Prisma.empty : Prisma.sql`AND s.harness = ${harness}`;
  return Prisma.sql`s.project_id = ${projectId} AND s.open_slot >= ${slotOf(since)} AND s.deleted_at IS NULL
    AND a.last_received_at > ${new Date(since)} AND a.turns > 0 ${ofHarness}`;
}

/** As many as a fleet may be asked for. */
const MOST_AGENTS = 500;

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

/** Every live agent against its own lines, the one nearest to its line first. */
export async function readFleet(reader: FreshReader, query: FleetQuery): Promise<FleetView> {
  const rows = await readRows(reader, liveAgents(reader, query.harness), query.limit);
  return {
    generated_at: iso(reader.now),
    agents: await fleetAgents(reader, rows),
    more: Math.max(0, (rows[0]?.total ?? 0) - rows.length),
  };
}

/** What became of the live agents of some sessions, and how many agents are live in all. */
export async function readFleetPart(reader: FreshReader, query: FleetPartQuery): Promise<FleetPart> {
  const live = liveAgents(reader, query.harness);
  const [rows, [total]] = await Promise.all([
    readRows(reader, Prisma.sql`${live} AND s.id = ANY(${query.sessions}::uuid[])`, MOST_AGENTS),
    reader.prisma.$queryRaw<{ count: number }[]>`SELECT count(*)::int4 AS count
      FROM agents a JOIN sessions s ON s.project_id = a.project_id AND s.id = a.session_id WHERE ${live}`,
  ]);
  return {
    generated_at: iso(reader.now),
    agents: await fleetAgents(reader, rows),
    live: total?.count ?? 0,
  };
}

/**
 * One statement: it is asked whenever anything changes. An agent's place is what it was last said to be at: `tick 4.2`,
 * `session 3`, `phase 20a`.
 */
function readRows(reader: Reader, where: Prisma.Sql, limit: number): Promise<Row[]> {
  const order = Prisma.sql`load DESC NULLS LAST, "lastReceivedAt" DESC, id`;
  return reader.prisma.$queryRaw<Row[]>`
    SELECT f.*, p.type AS "placeType", p.detail AS "placeDetail" FROM (
      SELECT a.id, a.session_id AS "sessionId", a.name, a.parent, a.model, a.turns, a.windows, a.load, a.state,
        a.current_tokens AS "currentTokens", a.current_window AS "currentWindow", a.window_source AS "windowSource",
        a.peak_tokens AS "peakTokens", a.peak_window AS "peakWindow", a.peak_at AS "peakAt",
        a.first_at AS "firstAt", a.last_at AS "lastAt", a.last_received_at AS "lastReceivedAt",
        s.name AS session, s.title, s.kind, s.harness, (count(*) OVER ())::int4 AS total
      FROM agents a JOIN sessions s ON s.project_id = a.project_id AND s.id = a.session_id
      WHERE ${where} ORDER BY ${order} LIMIT ${limit}
    ) f LEFT JOIN LATERAL (
      SELECT latest.* FROM unnest('{subtick,restarted,phase}'::text[]) AS t(type) CROSS JOIN LATERAL (
        SELECT b.type, b.detail, b.at, b.id FROM boundaries b
        WHERE b.project_id = ${reader.projectId} AND b.agent_id = f.id AND b.type = t.type AND b.origin = 0
        ORDER BY b.at DESC, b.id DESC LIMIT 1
      ) latest ORDER BY latest.at DESC, latest.id DESC LIMIT 1
    ) p ON true ORDER BY ${order}`;
}

async function fleetAgents(reader: Reader, rows: readonly Row[]): Promise<FleetAgent[]> {
  const timelineOf = await readTimelines(
    reader,
    rows.map(({ harness }) => harness),
  );
  return rows.map((row) => fleetAgent(row, timelineOf(row.harness), judgedAt(row, false, reader.now)));
}

function fleetAgent(row: Row, timeline: ThresholdTimeline, at: number): FleetAgent {
  const { session, title, kind, harness, placeType, placeDetail } = row;
  // Added to the view itself: hundreds of copies of thirty fields are a good part of this answer's time.
  return Object.assign(agentView(row, timeline, at), {
    session,
    title,
    kind,
    harness,
    place: placeType === null ? null : placeText(placeType, placeDetail ?? {}),
  });
}

function placeText(type: string, detail: Record<string, unknown>): string {
  if (type === "subtick") return `tick ${detail.tick}.${detail.sub}`;
  return type === "restarted" ? `session ${detail.number}` : `phase ${detail.phase}`;
}
