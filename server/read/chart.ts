import type { ChartPoint, SessionChart } from "@plimsoll/protocol/api";
import { queriesOf } from "../db/sql.ts";
import { REPORTED_CROSSINGS, unpackFacets } from "../db/tables/codes.ts";
import { readHistoryInRuns } from "../db/tables/read-turns.ts";
import { type NumberedTurn, numberTurns } from "../db/tables/turn-order.ts";
import { isLevel } from "../db/tables/turns.ts";
import type { Reader } from "../lines/reader.ts";
import { readTimelines } from "../lines/reader-timelines.ts";
import { iso } from "../times.ts";
import { type LineSource, LineSteps } from "./line-steps.ts";
import { findSession } from "./session.ts";
import { SpentSum } from "./spent.ts";
import { compositionView } from "./turns.ts";

/** Points drawn of one agent. Each bucket gives two: its highest and its last turn. */
const MOST_POINTS = 1_000;
/** Beyond this many agents a chart is a thicket; those with the most turns are drawn. */
const MOST_AGENTS = 24;
const MOST_REPORTS = 2_000;
/** Agents whose turns are read at the same time. */
const AGENTS_AT_ONCE = 4;

interface DrawnAgent {
  id: string;
  name: string;
  /** `agents.number`. */
  number: number;
  turns: number;
  estimatedTurns: number;
  estimatedMicros: number;
}

/** The saw-tooth of every agent of a session, thinned so that no peak vanishes. */
export async function readChart(reader: Reader, id: string): Promise<SessionChart> {
  const { harness } = await findSession(reader, id);
  const [timeline, modelName] = await Promise.all([
    readTimelines(reader, [harness]).then((timelineOf) => timelineOf(harness)),
    modelNames(reader),
  ]);
  const drawn = await reader.prisma.$queryRaw<DrawnAgent[]>`
    SELECT d.id, d.number, d.name, d.turns, d.estimated_cost_turns AS "estimatedTurns",
      d.estimated_cost_micros::float8 AS "estimatedMicros" FROM (
      SELECT * FROM agents WHERE project_id = ${reader.projectId} AND session_id = ${id}::uuid AND turns > 0
      ORDER BY (name = 'main') DESC, turns DESC, id LIMIT ${MOST_AGENTS}
    ) d ORDER BY (d.name = 'main') DESC, d.first_at, d.id`;
  const reported = await readReports(
    reader,
    drawn.map((agent) => agent.id),
  );
  const agents: SessionChart["agents"] = [];
  for (let from = 0; from < drawn.length; from += AGENTS_AT_ONCE) {
    const charts = drawn.slice(from, from + AGENTS_AT_ONCE).map((agent) => {
      const reports = reported.filter(({ agentId }) => agentId === agent.id);
      return drawAgent(reader, agent, { timeline, reports, modelName });
    });
    for (const chart of await Promise.all(charts)) if (chart !== undefined) agents.push(chart);
  }
  return { agents };
}

/** The chart of one agent, from all of its turns in turn. Undefined if it has no level. */
async function drawAgent(
  reader: Reader,
  agent: DrawnAgent,
  source: LineSource,
): Promise<SessionChart["agents"][number] | undefined> {
  const points = new ThinnedPoints(agent.turns);
  const steps = new LineSteps(source);
  const spent = new SpentSum();
  let levels = 0;
  let turnsBefore = 0;
  for await (const run of readHistoryInRuns(queriesOf(reader), reader.projectId, agent.number)) {
    for (const one of numberTurns(run, { turnsBefore, levelBefore: undefined })) {
      if (!isLevel(one.turn)) continue;
      levels += 1;
      points.add(one);
      steps.add(one);
    }
    spent.add(run);
    turnsBefore += run.length;
  }
  if (levels === 0) return undefined;
  return {
    agent_id: agent.id,
    agent: agent.name,
    turns: levels,
    ...spent.total(),
    estimated_cost:
      agent.estimatedTurns === 0 ? null : { usd: agent.estimatedMicros / 1e6, turns: agent.estimatedTurns },
    points: points.end().map(pointOf),
    lines: steps.latest(),
  };
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

/** Keeps the highest and the last turn of each bucket. Turns come in order. */
export class ThinnedPoints {
  readonly #width: number;
  readonly #points: NumberedTurn[] = [];
  #highest: NumberedTurn | undefined;
  #last: NumberedTurn | undefined;

  /** @param total turns of the agent, also those that are not drawn */
  constructor(total: number) {
    this.#width = total <= MOST_POINTS ? 1 : Math.ceil(total / (MOST_POINTS / 2));
  }

  add(turn: NumberedTurn): void {
    if (this.#last !== undefined && this.#bucketOf(turn) !== this.#bucketOf(this.#last)) this.#endBucket();
    if (this.#highest === undefined || levelOrNone(turn) > levelOrNone(this.#highest)) this.#highest = turn;
    this.#last = turn;
  }

  end(): readonly NumberedTurn[] {
    this.#endBucket();
    return this.#points;
  }

  #endBucket(): void {
    if (this.#highest !== undefined && this.#highest !== this.#last) this.#points.push(this.#highest);
    if (this.#last !== undefined) this.#points.push(this.#last);
    this.#highest = undefined;
    this.#last = undefined;
  }

  #bucketOf({ number }: NumberedTurn): number {
    return Math.floor((number - 1) / this.#width);
  }
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
