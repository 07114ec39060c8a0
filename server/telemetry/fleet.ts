import type { FleetAgent, FleetQuery, FleetView } from "@plimsoll/protocol";
import { Prisma } from "../db/client.ts";
import type { Agent, Session } from "../db/generated/client.ts";
import { slotOf } from "../ingest/slots.ts";
import { iso, LIVE_FOR, type Reader } from "./reader.ts";
import { agentView } from "./views.ts";

/** The condition on `agents a` joined with `sessions s` under which an agent is live. */
export function liveAgents({ projectId, now }: Reader, harness: string | undefined): Prisma.Sql {
  const since = now - LIVE_FOR;
  const ofHarness = harness === undefined ? Prisma.empty : Prisma.sql`AND s.harness = ${harness}`;
  return Prisma.sql`s.project_id = ${projectId} AND s.seen_slot >= ${slotOf(since)}
    AND a.last_received_at > ${new Date(since)} AND a.turns > 0
    AND (s.ended_at IS NULL OR s.last_at > s.ended_at) ${ofHarness}`;
}

const JOINED = Prisma.sql`agents a JOIN sessions s ON s.project_id = a.project_id AND s.id = a.session_id`;

/** Every live agent against its own lines, the one nearest to its line first. */
export async function readFleet(reader: Reader, query: FleetQuery): Promise<FleetView> {
  const where = liveAgents(reader, query.harness);
  const [found, [total]] = await Promise.all([
    reader.prisma.$queryRaw<{ id: string }[]>`SELECT a.id FROM ${JOINED} WHERE ${where}
      ORDER BY a.load DESC NULLS LAST, a.last_received_at DESC, a.id LIMIT ${query.limit}`,
    reader.prisma.$queryRaw<
      { count: number }[]
    >`SELECT count(*)::int4 AS count FROM ${JOINED} WHERE ${where}`,
  ]);
  const ids = found.map(({ id }) => id);
  const agents = await reader.prisma.agent.findMany({
    where: { projectId: reader.projectId, id: { in: ids } },
  });
  const sessions = await reader.prisma.session.findMany({
    where: { projectId: reader.projectId, id: { in: agents.map((agent) => agent.sessionId) } },
  });
  const places = await readPlaces(reader, ids);
  const agentById = new Map(agents.map((agent) => [agent.id, agent]));
  const sessionById = new Map(sessions.map((session) => [session.id, session]));
  const rows = ids.flatMap((id) => {
    const agent = agentById.get(id);
    const session = agent && sessionById.get(agent.sessionId);
    return session === undefined ? [] : [fleetAgent(reader, agent!, session, places.get(id))];
  });
  return {
    generated_at: iso(reader.now),
    agents: rows,
    more: Math.max(0, (total?.count ?? 0) - rows.length),
  };
}

function fleetAgent(reader: Reader, agent: Agent, session: Session, place: string | undefined): FleetAgent {
  return {
    ...agentView(agent, reader.thresholds),
    session: session.name,
    title: session.title,
    kind: session.kind as FleetAgent["kind"],
    harness: session.harness,
    place: place ?? null,
  };
}

/** What each agent was last said to be at: `tick 4.2`, `session 3`, `phase 20a`. */
async function readPlaces(reader: Reader, ids: readonly string[]): Promise<Map<string, string>> {
  if (ids.length === 0) return new Map();
  const rows = await reader.prisma.$queryRaw<
    { agent_id: string; type: string; detail: Record<string, unknown> }[]
  >`
    SELECT DISTINCT ON (agent_id) agent_id, type, detail FROM boundaries
    WHERE project_id = ${reader.projectId} AND agent_id = ANY(${ids}::uuid[])
      AND type IN ('subtick', 'restarted', 'phase') AND origin = 0
    ORDER BY agent_id, at DESC, id DESC`;
  return new Map(rows.map((row) => [row.agent_id, placeText(row.type, row.detail)]));
}

function placeText(type: string, detail: Record<string, unknown>): string {
  if (type === "subtick") return `tick ${detail.tick}.${detail.sub}`;
  return type === "restarted" ? `session ${detail.number}` : `phase ${detail.phase}`;
}
