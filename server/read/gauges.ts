import { isBoundary } from "@plimsoll/fold";
import type { ContestedWork, QuotaView } from "@plimsoll/protocol/api";
import { BOUNDARY_TYPES, type BoundaryType } from "@plimsoll/protocol/events";
import { Prisma } from "../db/client.ts";
import { readContestedLeases } from "../db/lease.ts";
import { queriesOf } from "../db/sql.ts";
import { TALLY_OF, type Tally } from "../db/tables/agents.ts";
import { ALL, GRAINS, slotOf } from "../db/tables/buckets.ts";
import { OUTCOMES } from "../db/tables/ingest-counts.ts";
import type { FreshReader } from "../lines/reader.ts";
import { HOUR_MS } from "../times.ts";
import { liveAgents } from "./fleet.ts";
import { LIVE_FOR } from "./liveness.ts";
import { readQuota } from "./quota.ts";

/** What a scraper of `/metrics` gets of a project: the live agents nearest to their lines, and totals. */
export interface FleetGauges {
  agents: AgentGauges[];
  /** Live agents in all, beyond those shown too. */
  live: number;
  /** How many of them have at least some load, for each of `LOAD_STEPS`. */
  atLoad: { atLeast: number; count: number }[];
  /** Since the first event, by boundary type. */
  boundaries: { type: string; count: number }[];
  /** Distinct sessions with an upward crossing of the warning threshold. */
  sessionsPastWarning: number;
  /** Those silent for longest first. */
  harnesses: HarnessGauges[];
  /** Since the first event, in US dollars. `estimated` is that of turns that state no cost, at list prices. */
  cost: { reported: number; estimated: number; unpricedTurns: number };
  quotas: readonly QuotaView[];
  /** Events that the server rejected since the first one. */
  rejected: number;
  /** Accepted events that wait for the projection. */
  backlog: { events: number /** Of the oldest. */; ageMs: number };
  /** Work that servers took from each other in the last 5 minutes. */
  contested: readonly ContestedWork[];
}

/** A harness instance that has an open session and has not said goodbye. */
export interface HarnessGauges {
  harness: string;
  silentMs: number;
}

export interface AgentGauges {
  harness: string;
  session: string;
  agent: string;
  model: string;
  contextTokens: number | null;
  /** Null when unknown; then there is no ratio either. */
  windowTokens: number | null;
  load: number | null;
  turns: number;
  boundaries: Record<BoundaryType, number>;
  /** Since the server received an event of the session. */
  sessionSilentMs: number;
}

/** Eleven series an agent: a fleet without bound would drown whoever scrapes it. */
export const AGENTS_SHOWN = 500;
/** Context tokens ÷ tokens at the line. */
export const LOAD_STEPS = [0.5, 0.7, 0.8, 0.9, 1] as const;
const HARNESSES_SHOWN = 500;
/** Milliseconds after which a silent harness has no gauge any more. */
const HARNESS_SHOWN_FOR = 6 * HOUR_MS;

type AgentRow = Omit<AgentGauges, "boundaries"> & Omit<Tally, "reclaimed" | "warnings">;

export async function readGauges(reader: FreshReader): Promise<FleetGauges> {
  const { prisma, projectId, now, lag } = reader;
  const live = liveAgents(reader, {});
  // The column has four bytes: 0.9 as a longer number is more than what is stored.
  const counts = LOAD_STEPS.map(
    (step) => Prisma.sql`count(*) FILTER (WHERE a.load >= ${step}::float4)::float8`,
  );
  const [agents, [total], boundaries, [warned], harnesses, [spent], { quotas }, [refused], contested] =
    await Promise.all([
      prisma.$queryRaw<AgentRow[]>`
      SELECT s.harness, s.name AS session, a.name AS agent, COALESCE(a.model, '') AS model,
        a.current_tokens AS "contextTokens", a.current_window AS "windowTokens", a.load, a.turns,
        a.masked, a.compacted, a.subticks, a.restarts, a.cleared, a.unexplained,
        (extract(epoch FROM GREATEST('0', clock_timestamp() - s.last_received_at)) * 1000)::float8 AS "sessionSilentMs"
      FROM agents a JOIN sessions s ON s.project_id = a.project_id AND s.id = a.session_id
      WHERE ${live} ORDER BY a.load DESC NULLS LAST, a.id LIMIT ${AGENTS_SHOWN}`,
      prisma.$queryRaw<{ live: number; atLoad: number[] }[]>`
      SELECT count(*)::float8 AS live, ARRAY[${Prisma.join(counts)}] AS "atLoad"
      FROM agents a JOIN sessions s ON s.project_id = a.project_id AND s.id = a.session_id WHERE ${live}`,
      prisma.$queryRaw<{ type: string; count: bigint }[]>`
      SELECT type, sum(count)::int8 AS count FROM boundary_rollups
      WHERE project_id = ${projectId} AND grain = ${GRAINS.at(-1)} AND harness = ${ALL} GROUP BY type ORDER BY type`,
      prisma.$queryRaw<{ count: bigint }[]>`
      SELECT count(*) AS count FROM sessions WHERE project_id = ${projectId} AND warned AND deleted_at IS NULL`,
      // The sessions that were live when the harness was last heard.
      prisma.$queryRaw<HarnessGauges[]>`
      SELECT h.instance AS harness,
        (extract(epoch FROM GREATEST('0', clock_timestamp() - h.last_received_at)) * 1000)::float8 AS "silentMs"
      FROM harnesses h
      WHERE h.project_id = ${projectId} AND h.deleted_at IS NULL AND h.status <> 'bye' AND h.last_received_at > ${new Date(now - HARNESS_SHOWN_FOR)}
        AND EXISTS (SELECT 1 FROM sessions s
          WHERE s.project_id = ${projectId} AND s.open_slot >= ${slotOf(now - HARNESS_SHOWN_FOR - LIVE_FOR)}
            AND s.harness = h.instance AND s.last_received_at > h.last_received_at - ${LIVE_FOR} * interval '1 ms')
      ORDER BY h.last_received_at, h.id LIMIT ${HARNESSES_SHOWN}`,
      prisma.$queryRaw<FleetGauges["cost"][]>`
      SELECT COALESCE(sum(cost_micros), 0)::float8 / 1e6 AS reported,
        GREATEST(0, COALESCE(sum(estimated_cost_micros), 0))::float8 / 1e6 AS estimated,
        GREATEST(0, COALESCE(sum(unpriced_turns), 0))::float8 AS "unpricedTurns"
      FROM rollups WHERE project_id = ${projectId} AND grain = ${GRAINS.at(-1)} AND harness = ${ALL}`,
      readQuota(reader),
      prisma.$queryRaw<{ count: number }[]>`
      SELECT COALESCE(sum(count), 0)::float8 AS count FROM ingest_counts
      WHERE project_id = ${projectId} AND outcome <> ALL(${[...OUTCOMES]})`,
      readContestedLeases(queriesOf(reader), projectId),
    ]);
  return {
    agents: agents.map((row) => ({ ...row, boundaries: boundariesOf(row) })),
    live: total?.live ?? 0,
    atLoad: LOAD_STEPS.map((atLeast, index) => ({ atLeast, count: total?.atLoad[index] ?? 0 })),
    boundaries: boundaries
      .filter((row) => isBoundary(row.type))
      .map((row) => ({ ...row, count: Number(row.count) })),
    sessionsPastWarning: Number(warned?.count ?? 0),
    harnesses,
    cost: spent!,
    quotas: quotas.filter(({ forecast }) => forecast.reason !== "reset"),
    rejected: refused?.count ?? 0,
    backlog: { events: lag.events, ageMs: lag.ms },
    contested: contested.map(({ work }) => work),
  };
}

function boundariesOf(row: AgentRow): AgentGauges["boundaries"] {
  const counts = BOUNDARY_TYPES.map((type) => [type, row[TALLY_OF[type] as keyof AgentRow]]);
  return Object.fromEntries(counts) as AgentGauges["boundaries"];
}
