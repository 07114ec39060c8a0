import type { ThresholdTimeline } from "@plimsoll/fold";
import type {
  FleetAgent,
  FleetPart,
  FleetPartQuery,
  FleetQuery,
  FleetView,
  LastFall,
} from "@plimsoll/protocol/api";
import { BOUNDARY_TYPES } from "@plimsoll/protocol/events";
import { Prisma } from "../db/client.ts";
import { TALLY_OF } from "../db/tables/agents.ts";
import { slotOf } from "../db/tables/buckets.ts";
import type { FreshReader, Reader } from "../lines/reader.ts";
import { readTimelines } from "../lines/reader-timelines.ts";
import { iso } from "../times.ts";
import { activeAt, activeAtSql, heardTimes, LIVE_FOR, SILENT_AFTER } from "./liveness.ts";
import { type FallAt, type LevelAt, readRecentLevels, recentLevels } from "./recent-levels.ts";
import { originConditions } from "./session-filter.ts";
import { type AgentFacts, agentView, judgedAt } from "./views.ts";

/** Which agents of a fleet. */
type FleetFilter = Pick<FleetQuery, "harness" | "machine" | "repository" | "branch" | "person">;

/** The condition on `agents a` joined with `sessions s` under which an agent is live. */
export function liveAgents({ projectId, now }: Reader, filter: FleetFilter): Prisma.Sql {
  const since = now - LIVE_FOR;
  const chosen = originConditions(filter);
  if (filter.harness !== undefined) chosen.push(Prisma.sql`s.harness = ${filter.harness}`);
  // What was active was also received lately; only that has an index.
  return Prisma.sql`s.project_id = ${projectId} AND s.open_slot >= ${slotOf(since)} AND s.deleted_at IS NULL
    AND a.last_received_at > ${new Date(since)} AND ${activeAtSql("a")} > ${new Date(since)}
    AND a.turns > 0 ${chosen.length === 0 ? Prisma.empty : Prisma.sql`AND ${Prisma.join(chosen, " AND ")}`}`;
}

/** As many as a fleet may be asked for. */
const MOST_AGENTS = 500;

interface Row extends AgentFacts {
  number: number;
  firstReceivedAt: Date;
  lastReceivedAt: Date;
  session: string;
  title: string | null;
  kind: FleetAgent["kind"];
  harness: string;
  machine: string | null;
  repository: string | null;
  branch: string | null;
  person: string | null;
  /** Live agents in all, beyond the limit too. */
  total: number;
  placeType: string | null;
  placeDetail: Record<string, unknown> | null;
  /** The latest boundaries, newest first. */
  falls: Fall[] | null;
}

/** A boundary. `at` in epoch ms. */
interface Fall extends FallAt {
  before: number | null;
  after: number | null;
}

/** Every live agent against its own lines, the one nearest to its line first; see `FleetView.agents`. */
export async function readFleet(reader: FreshReader, query: FleetQuery): Promise<FleetView> {
  const rows = await readRows(reader, liveAgents(reader, query), query.limit);
  return {
    generated_at: iso(reader.now),
    agents: await fleetAgents(reader, rows),
    more: Math.max(0, (rows[0]?.total ?? 0) - rows.length),
  };
}

/** What became of the live agents of some sessions, and how many agents are live in all. */
export async function readFleetPart(reader: FreshReader, query: FleetPartQuery): Promise<FleetPart> {
  const live = liveAgents(reader, query);
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

/** Boundaries of each type that are read of an agent. More cannot be told apart among 30 turns. */
const FALLS = 8;

/**
 * One statement: it is asked whenever anything changes. An agent's place is what it was last said to be at: `tick 4.2`,
 * `session 3`, `phase 20a`.
 */
function readRows(reader: Reader, where: Prisma.Sql, limit: number): Promise<Row[]> {
  const silentSince = new Date(reader.now - SILENT_AFTER);
  const order = Prisma.sql`silent, suspect, load DESC NULLS LAST, "activeAt" DESC, id`;
  const counted = BOUNDARY_TYPES.map((type) => Prisma.sql`(${type}, f.${Prisma.raw(TALLY_OF[type])})`);
  return reader.prisma.$queryRaw<Row[]>`
    SELECT f.*, p.type AS "placeType", p.detail AS "placeDetail", b.falls FROM (
      SELECT a.id, a.number, a.session_id AS "sessionId", a.name, a.parent, a.model, a.turns, a.windows, a.load, a.state,
        a.current_tokens AS "currentTokens", a.current_window AS "currentWindow", a.window_source AS "windowSource",
        a.peak_tokens AS "peakTokens", a.peak_window AS "peakWindow", a.peak_at AS "peakAt",
        a.first_at AS "firstAt", a.last_at AS "lastAt", a.first_received_at AS "firstReceivedAt",
        a.last_received_at AS "lastReceivedAt", ${Prisma.join(TALLIES.map((column) => Prisma.raw(`a.${column}`)))},
        ${activeAtSql("a")} AS "activeAt", ${activeAtSql("a")} <= ${silentSince} AS silent,
        COALESCE(a.current_tokens > a.current_window, false) AS suspect,
        s.name AS session, s.title, s.kind, s.harness, s.machine, s.repository, s.branch,
        s.person_id AS person, (count(*) OVER ())::int4 AS total
      FROM agents a JOIN sessions s ON s.project_id = a.project_id AND s.id = a.session_id
      WHERE ${where} ORDER BY ${order} LIMIT ${limit}
    ) f LEFT JOIN LATERAL (
      SELECT latest.* FROM unnest('{subtick,restarted,phase}'::text[]) AS t(type) CROSS JOIN LATERAL (
        SELECT b.type, b.detail, b.at, b.id FROM boundaries b
        WHERE b.project_id = ${reader.projectId} AND b.agent_id = f.id AND b.type = t.type AND b.origin = 0
        ORDER BY b.at DESC, b.id DESC LIMIT 1
      ) latest ORDER BY latest.at DESC, latest.id DESC LIMIT 1
    ) p ON true LEFT JOIN LATERAL (
      SELECT json_agg(json_build_object('type', latest.type, 'at', extract(epoch FROM latest.at) * 1000,
        'before', latest.tokens_before, 'after', latest.tokens_after) ORDER BY latest.at DESC, latest.id DESC) AS falls
      FROM (VALUES ${Prisma.join(counted)}) AS t(type, count) CROSS JOIN LATERAL (
        SELECT b.type, b.at, b.id, b.tokens_before, b.tokens_after FROM boundaries b
        WHERE b.project_id = ${reader.projectId} AND b.agent_id = f.id AND b.type = t.type
        ORDER BY b.at DESC, b.id DESC LIMIT ${FALLS}
      ) latest WHERE t.count > 0
    ) b ON true ORDER BY ${order}`;
}

const TALLIES = BOUNDARY_TYPES.map((type) => TALLY_OF[type]);

async function fleetAgents(reader: Reader, rows: readonly Row[]): Promise<FleetAgent[]> {
  const [timelineOf, recent] = await Promise.all([
    readTimelines(
      reader,
      rows.map(({ harness }) => harness),
    ),
    readRecentLevels(
      reader,
      rows.map(({ number }) => number),
    ),
  ]);
  return rows.map((row) =>
    fleetAgent(row, {
      timeline: timelineOf(row.harness),
      levels: recent.get(row.number) ?? [],
      at: judgedAt(row, false, reader.now),
    }),
  );
}

interface FleetContext {
  timeline: ThresholdTimeline;
  levels: readonly LevelAt[];
  /** See `judgedAt`. */
  at: number;
}

function fleetAgent(row: Row, { timeline, levels, at }: FleetContext): FleetAgent {
  const { session, title, kind, harness, machine, repository, branch, person } = row;
  const { placeType, placeDetail, falls } = row;
  const active = activeAt(heardTimes(row));
  const turnTimes = levels.map((level) => level.at);
  const last = falls?.[0];
  // Added to the view itself: hundreds of copies of thirty fields are a good part of this answer's time.
  return Object.assign(agentView(row, timeline, at, { harness, turnTimes }), {
    session,
    title,
    kind,
    harness,
    machine,
    repository,
    branch,
    person,
    place: placeType === null ? null : placeText(placeType, placeDetail ?? {}),
    active_at: iso(active),
    recent: recentLevels(levels, falls ?? []),
    last_fall: last === undefined ? null : lastFall(last, active - row.lastAt.getTime()),
  });
}

/** @param wrongBy ms from the clock of the harness to that of the server */
function lastFall({ type, at, before, after }: Fall, wrongBy: number): LastFall {
  return {
    type,
    at: iso(at + wrongBy),
    reclaimed_tokens: before === null || after === null ? null : Math.max(0, before - after),
  };
}

function placeText(type: string, detail: Record<string, unknown>): string {
  if (type === "subtick") return `tick ${detail.tick}.${detail.sub}`;
  return type === "restarted" ? `session ${detail.number}` : `phase ${detail.phase}`;
}
