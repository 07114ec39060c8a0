import type { ChartPoint, SessionChart } from "@plimsoll/protocol";
import { Prisma } from "../db/client.ts";
import { unpackFacets } from "../store/codes.ts";
import { IS_LEVEL } from "../store/turns.ts";
import { iso, type Reader } from "./reader.ts";
import { findSession } from "./session.ts";
import { compositionView, TURN_ORDER, TURN_PLACE } from "./turns.ts";

/** Points drawn of one agent. Each bucket gives two: its highest and its last turn. */
const MOST_POINTS = 1_000;
/** Beyond this many agents a chart is a thicket; those with the most turns are drawn. */
const MOST_AGENTS = 24;

interface Row {
  agent_id: string;
  agent_name: string;
  drawable: number;
  number: number;
  at: Date;
  window_index: number;
  context_tokens: number | null;
  window_tokens: number | null;
  facets: number;
  composition: (number | null)[] | null;
}

/** The saw-tooth of every agent of a session, thinned in SQL so that no peak vanishes. */
export async function readChart(reader: Reader, id: string): Promise<SessionChart> {
  await findSession(reader, id);
  const rows = await reader.prisma.$queryRaw<Row[]>`
    WITH drawn AS (
      SELECT id, number AS agent_number, name, first_at FROM agents
      WHERE project_id = ${reader.projectId} AND session_id = ${id}::uuid AND turns > 0
      ORDER BY (name = 'main') DESC, turns DESC, id LIMIT ${MOST_AGENTS}
    ), placed AS (
      SELECT t.*, ${TURN_PLACE} AS place, d.id AS agent_id, d.name AS agent_name, d.first_at
      FROM drawn d JOIN turns t ON t.project_id = ${reader.projectId} AND t.agent = d.agent_number
    ), numbered AS (
      SELECT t.*, (row_number() OVER (PARTITION BY t.agent_id ORDER BY ${TURN_ORDER}))::int4 AS number,
        (count(*) OVER (PARTITION BY t.agent_id))::int4 AS total,
        (count(*) FILTER (WHERE ${Prisma.raw(IS_LEVEL)}) OVER (PARTITION BY t.agent_id))::int4 AS drawable
      FROM placed t
    ), ranked AS (
      SELECT *, row_number() OVER (PARTITION BY agent_id, bucket ORDER BY context_tokens DESC NULLS LAST, number) AS by_level,
        row_number() OVER (PARTITION BY agent_id, bucket ORDER BY number DESC) AS by_end
      FROM (
        SELECT *, CASE WHEN total <= ${MOST_POINTS} THEN number
          ELSE (number - 1) / ceil(total / ${MOST_POINTS / 2}::float8)::int4 END AS bucket
        FROM numbered t WHERE ${Prisma.raw(IS_LEVEL)}
      ) b
    )
    SELECT agent_id, agent_name, drawable, number, at, window_index, context_tokens, window_tokens, facets, composition
    FROM ranked WHERE by_level = 1 OR by_end = 1 ORDER BY (agent_name = 'main') DESC, first_at, agent_id, number`;
  const agents = new Map<string, SessionChart["agents"][number]>();
  for (const row of rows) {
    let agent = agents.get(row.agent_id);
    if (agent === undefined) {
      agent = { agent_id: row.agent_id, agent: row.agent_name, turns: row.drawable, points: [] };
      agents.set(row.agent_id, agent);
    }
    agent.points.push(pointOf(row));
  }
  return { agents: [...agents.values()] };
}

function pointOf(row: Row): ChartPoint {
  return {
    number: row.number,
    at: iso(row.at),
    window: row.window_index,
    context_tokens: row.context_tokens,
    window_tokens: row.window_tokens,
    estimated: unpackFacets(row.facets).estimated,
    composition: compositionView(row.composition),
  };
}
