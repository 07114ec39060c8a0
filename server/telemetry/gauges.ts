import { isBoundary } from "@plimsoll/protocol";
import { ALL, GRAINS } from "../store/buckets.ts";
import { liveAgents } from "./fleet.ts";
import type { FreshReader } from "./reader.ts";

/** What a scraper of `/metrics` gets of a project: the live agents nearest to their lines, and totals. */
export interface FleetGauges {
  agents: AgentGauges[];
  /** Live agents in all, beyond those shown too. */
  live: number;
  /** Since the first event, by boundary type. */
  boundaries: { type: string; count: number }[];
  /** Distinct sessions with an upward crossing of the warning threshold. */
  sessionsPastWarning: number;
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
}

/** Four series an agent: a fleet without bound would drown whoever scrapes it. */
export const AGENTS_SHOWN = 500;

export async function readGauges(reader: FreshReader): Promise<FleetGauges> {
  const { prisma, projectId } = reader;
  const live = liveAgents(reader, undefined);
  const [agents, [total], boundaries, [warned]] = await Promise.all([
    prisma.$queryRaw<AgentGauges[]>`
      SELECT s.harness, s.name AS session, a.name AS agent, COALESCE(a.model, '') AS model,
        a.current_tokens AS "contextTokens", a.current_window AS "windowTokens", a.load
      FROM agents a JOIN sessions s ON s.project_id = a.project_id AND s.id = a.session_id
      WHERE ${live} ORDER BY a.load DESC NULLS LAST, a.id LIMIT ${AGENTS_SHOWN}`,
    prisma.$queryRaw<{ count: bigint }[]>`
      SELECT count(*) AS count
      FROM agents a JOIN sessions s ON s.project_id = a.project_id AND s.id = a.session_id WHERE ${live}`,
    prisma.$queryRaw<{ type: string; count: bigint }[]>`
      SELECT type, sum(count)::int8 AS count FROM boundary_rollups
      WHERE project_id = ${projectId} AND grain = ${GRAINS.at(-1)} AND harness = ${ALL} GROUP BY type ORDER BY type`,
    prisma.$queryRaw<{ count: bigint }[]>`
      SELECT count(*) AS count FROM sessions WHERE project_id = ${projectId} AND warned`,
  ]);
  return {
    agents,
    live: Number(total?.count ?? 0),
    boundaries: boundaries
      .filter((row) => isBoundary(row.type))
      .map((row) => ({ ...row, count: Number(row.count) })),
    sessionsPastWarning: Number(warned?.count ?? 0),
  };
}
