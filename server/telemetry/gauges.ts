import { isBoundary } from "@plimsoll/protocol";
import { GRAINS } from "../ingest/rollup.ts";
import { liveAgents } from "./fleet.ts";
import type { Reader } from "./reader.ts";

/** The figures a scraper of `/metrics` gets: the live agents nearest to their lines, and totals. */
export interface Gauges {
  agents: {
    harness: string;
    session: string;
    agent: string;
    model: string;
    contextTokens: number | null;
    windowTokens: number | null;
    load: number | null;
  }[];
  boundaries: { type: string; count: number }[];
  sessionsPastWarning: number;
}

const MOST_AGENTS = 500;

export async function readGauges(reader: Reader): Promise<Gauges> {
  const { prisma, projectId } = reader;
  const [agents, boundaries, [warned]] = await Promise.all([
    prisma.$queryRaw<Gauges["agents"]>`
      SELECT s.harness, s.name AS session, a.name AS agent, COALESCE(a.model, '') AS model,
        a.current_tokens AS "contextTokens", a.current_window AS "windowTokens", a.load
      FROM agents a JOIN sessions s ON s.project_id = a.project_id AND s.id = a.session_id
      WHERE ${liveAgents(reader, undefined)} ORDER BY a.load DESC NULLS LAST, a.id LIMIT ${MOST_AGENTS}`,
    prisma.$queryRaw<{ type: string; count: bigint }[]>`
      SELECT type, sum(count)::int8 AS count FROM boundary_rollups
      WHERE project_id = ${projectId} AND grain = ${GRAINS.at(-1)} GROUP BY type ORDER BY type`,
    prisma.$queryRaw<{ count: bigint }[]>`
      SELECT count(*) AS count FROM sessions WHERE project_id = ${projectId} AND warnings > 0`,
  ]);
  return {
    agents,
    boundaries: boundaries
      .filter((row) => isBoundary(row.type))
      .map((row) => ({ ...row, count: Number(row.count) })),
    sessionsPastWarning: Number(warned?.count ?? 0),
  };
}
