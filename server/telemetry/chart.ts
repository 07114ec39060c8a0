import type { ChartPoint, SessionChart } from "@plimsoll/protocol";
import { readTimelines } from "../policy/reader-timelines.ts";
import { REPORTED_CROSSINGS, unpackFacets } from "../store/codes.ts";
import { isLevel } from "../store/turns.ts";
import { lineSteps } from "./line-steps.ts";
import { iso, type Reader } from "./reader.ts";
import { findSession } from "./session.ts";
import { agentBatches, readAgentTurns, type TurnOwner } from "./session-turns.ts";
import { spentOf } from "./spent.ts";
import type { NumberedTurn } from "./turn-order.ts";
import { compositionView } from "./turns.ts";

/** Points drawn of one agent. Each bucket gives two: its highest and its last turn. */
const MOST_POINTS = 1_000;
/** Beyond this many agents a chart is a thicket; those with the most turns are drawn. */
const MOST_AGENTS = 24;
const MOST_REPORTS = 2_000;

interface DrawnAgent extends TurnOwner {
  id: string;
  name: string;
}

/** The saw-tooth of every agent of a session, thinned so that no peak vanishes. */
export async function readChart(reader: Reader, id: string): Promise<SessionChart> {
  const { harness } = await findSession(reader, id);
  const [timeline, modelName] = await Promise.all([
    readTimelines(reader, [harness]).then((timelineOf) => timelineOf(harness)),
    modelNames(reader),
  ]);
  const drawn = await reader.prisma.$queryRaw<DrawnAgent[]>`
    SELECT d.id, d.number, d.name, d.turns FROM (
      SELECT * FROM agents WHERE project_id = ${reader.projectId} AND session_id = ${id}::uuid AND turns > 0
      ORDER BY (name = 'main') DESC, turns DESC, id LIMIT ${MOST_AGENTS}
    ) d ORDER BY (d.name = 'main') DESC, d.first_at, d.id`;
  const reported = await readReports(
    reader,
    drawn.map((agent) => agent.id),
  );
  const agents: SessionChart["agents"] = [];
  for (const batch of agentBatches(drawn)) {
    for (const { agent, turns } of await readAgentTurns(reader, batch)) {
      const levels = turns.filter(({ turn }) => isLevel(turn));
      if (levels.length === 0) continue;
      const points = thinned(levels, turns.length).map(pointOf);
      const reports = reported.filter(({ agentId }) => agentId === agent.id);
      const lines = lineSteps(levels, { timeline, reports, modelName });
      agents.push({
        agent_id: agent.id,
        agent: agent.name,
        turns: levels.length,
        ...spentOf(turns),
        points,
        lines,
      });
    }
  }
  return { agents };
}

/** The latest crossings that harnesses reported, oldest first. */
async function readReports({ prisma, projectId }: Reader, agents: string[]) {
  const rows = await prisma.crossing.findMany({
    where: { projectId, agentId: { in: agents }, origin: { in: [...REPORTED_CROSSINGS] } },
    orderBy: [{ at: "desc" }, { id: "desc" }],
    take: MOST_REPORTS,
  });
  return rows.reverse();
}

async function modelNames({ prisma, projectId }: Reader): Promise<(id: number) => string | undefined> {
  const models = await prisma.model.findMany({ where: { projectId }, select: { id: true, name: true } });
  const names = new Map(models.map(({ id, name }) => [id, name]));
  return (id) => names.get(id);
}

/** The highest and the last turn of each bucket. `total` also counts turns that are not drawn. */
export function thinned(turns: readonly NumberedTurn[], total: number): NumberedTurn[] {
  if (total <= MOST_POINTS) return [...turns];
  const width = Math.ceil(total / (MOST_POINTS / 2));
  const points: NumberedTurn[] = [];
  let highest: NumberedTurn | undefined;
  for (const [index, one] of turns.entries()) {
    if (highest === undefined || levelOrNone(one) > levelOrNone(highest)) highest = one;
    const next = turns[index + 1];
    if (next !== undefined && bucketOf(next, width) === bucketOf(one, width)) continue;
    if (highest !== one) points.push(highest);
    points.push(one);
    highest = undefined;
  }
  return points;
}

function bucketOf({ number }: NumberedTurn, width: number): number {
  return Math.floor((number - 1) / width);
}

function levelOrNone({ turn }: NumberedTurn): number {
  return turn.contextTokens ?? Number.NEGATIVE_INFINITY;
}

function pointOf({ turn, number }: NumberedTurn): ChartPoint {
  const { estimated, compositionEstimated } = unpackFacets(turn.facets);
  return {
    key: turn.key,
    number,
    at: iso(turn.at),
    window: turn.windowIndex,
    context_tokens: turn.contextTokens ?? null,
    window_tokens: turn.windowTokens ?? null,
    estimated,
    composition: compositionView(turn.composition),
    composition_estimated: compositionEstimated,
  };
}
