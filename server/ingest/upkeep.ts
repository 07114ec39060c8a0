import type { Sql, WriterSql } from "../db/sql.ts";
import type { AgentNews } from "../history/agent-news.ts";
import { Ledger } from "../history/outcomes.ts";
import { openHistory } from "../history/read-history.ts";
import { refoldAgent } from "../history/refold-agent.ts";
import { ALL, SLOT_MS } from "../store/buckets.ts";
import { IS_LEVEL, TURN_SLOT } from "../store/turns.ts";
import type { ProjectMemory } from "./memory.ts";
import { addToRollups, type ChunkPlan, type ProjectSettings } from "./plan-chunk.ts";
import { planSession } from "./plan-session.ts";
import { RollupChanges } from "./rollup-changes.ts";

const NEXT_REFOLD = `
SELECT r.agent_id, s.harness FROM refolds r
LEFT JOIN agents a ON a.project_id = $1 AND a.id = r.agent_id
LEFT JOIN sessions s ON s.project_id = $1 AND s.id = a.session_id
WHERE r.project_id = $1 ORDER BY r.asked_at, r.agent_id LIMIT 1`;

const NO_NEWS: AgentNews = { newTurns: [], changedTurns: [], newMarks: [], replacedMarks: [], outcomes: [] };

/** One agent whose history is to be folded again. `plan` is undefined if the agent is gone. */
export interface PlannedRefold {
  agentId: string;
  plan: ChunkPlan | undefined;
}

/** Plans the oldest refold that was asked for; undefined if there is none. */
export async function planRefold(
  sql: Pick<Sql, "query">,
  memory: ProjectMemory,
  settings: ProjectSettings,
): Promise<PlannedRefold | undefined> {
  const { projectId } = memory;
  const [next] = await sql.query<{ agent_id: string; harness: string | null }>(NEXT_REFOLD, projectId);
  if (next === undefined) return undefined;
  const { agent_id: agentId, harness } = next;
  await memory.loadAgents(sql, [agentId]);
  const known = memory.agents.get(agentId);
  if (known === undefined || harness === null) return { agentId, plan: undefined };
  await memory.loadSessions(sql, [known.row.sessionId]);
  const { sessionId, name, parent, firstAt, lastAt, lastReceivedAt: receivedAt } = known.row;
  const changes = await refoldAgent({
    history: openHistory(sql, projectId, known.row, memory.modelName),
    agent: { id: agentId, sessionId, harness, name, parent, firstAt, lastAt, receivedAt },
    known,
    news: NO_NEWS,
    options: {
      fold: { thresholds: settings.thresholds, lookups: memory.lookups },
      ...settings,
      modelId: (model) => memory.modelId(model),
      nextNumber: () => memory.nextNumber(),
    },
    extent: "to_the_end",
  });
  const rollups = new RollupChanges();
  addToRollups(rollups, changes);
  const session = memory.sessions.get(sessionId);
  const change = { before: changes.before, after: changes.after.row, refolded: true };
  const plan: ChunkPlan = {
    agents: [changes],
    harnessMarks: [],
    sessions: session === undefined ? [] : [planSession(session.row, session, [change])],
    harnesses: [],
    describedSessions: [],
    describedHarnesses: [],
    rollups,
    models: new Set(),
    ledger: new Ledger(),
  };
  return { agentId, plan };
}

/** Minutes whose peak is read again in one step. */
const STALE_MINUTES = 120;

/** The oldest minutes whose peak may be too high, all harnesses and models of each. */
const STALE = `
SELECT DISTINCT (extract(epoch FROM bucket) * 1000)::float8 AS bucket FROM rollups
WHERE project_id = $1 AND grain = 1 AND stale ORDER BY 1 LIMIT ${STALE_MINUTES}`;

/** One pass over the turns of those minutes. */
const READ_PEAKS = `
WITH minutes AS MATERIALIZED (
  SELECT DISTINCT r.bucket, r.harness, r.model FROM rollups r
  WHERE r.project_id = $1 AND r.grain = 1 AND r.stale AND r.harness <> '${ALL}' AND r.bucket >= $2 AND r.bucket <= $3
), found AS (
  SELECT date_bin('1 minute', t.at, 'epoch') AS bucket, s.harness, m.name AS model, max(t.context_tokens) AS tokens,
    max(t.context_tokens::float8 / t.window_tokens)::float4 AS utilization
  FROM sessions s
  JOIN agents a ON a.project_id = $1 AND a.session_id = s.id
  JOIN turns t ON t.project_id = $1 AND t.agent = a.number
  JOIN models m ON m.project_id = $1 AND m.id = t.model_id
  WHERE s.project_id = $1 AND s.harness IN (SELECT harness FROM minutes)
    AND s.last_slot >= floor(extract(epoch FROM $2::timestamptz) * 1000 / ${SLOT_MS})
    AND s.first_slot <= floor(extract(epoch FROM $3::timestamptz) * 1000 / ${SLOT_MS})
    AND ${TURN_SLOT} >= ${TURN_SLOT.replace("t.at", "$2::timestamptz")}
    AND ${TURN_SLOT} <= ${TURN_SLOT.replace("t.at", "$3::timestamptz")}
    AND t.at >= $2 AND t.at < $3::timestamptz + interval '1 minute' AND ${IS_LEVEL}
  GROUP BY 1, 2, 3
)
UPDATE rollups r SET stale = false, peak_tokens = f.tokens, peak_utilization = f.utilization
FROM minutes i LEFT JOIN found f USING (bucket, harness, model)
WHERE r.project_id = $1 AND r.grain = 1 AND r.harness = i.harness AND r.bucket = i.bucket AND r.model = i.model`;

/** The whole fleet's row of a minute: the highest of its parts. */
const READ_FLEET_PEAKS = `
UPDATE rollups r SET stale = false, peak_tokens = o.tokens, peak_utilization = o.utilization
FROM (
  SELECT p.bucket, max(p.peak_tokens) AS tokens, max(p.peak_utilization) AS utilization
  FROM harnesses h JOIN rollups p ON p.project_id = $1 AND p.grain = 1 AND p.harness = h.instance
    AND p.bucket >= $2 AND p.bucket <= $3
  WHERE h.project_id = $1 GROUP BY 1
) o
WHERE r.project_id = $1 AND r.grain = 1 AND r.stale AND r.harness = '${ALL}' AND r.bucket = o.bucket`;

/** Longer buckets: the highest of their minutes. */
const READ_LONGER_PEAKS = `
UPDATE rollups r SET stale = false, peak_tokens = o.tokens, peak_utilization = o.utilization
FROM (
  SELECT l.grain, l.bucket, l.harness, l.model, max(p.peak_tokens) AS tokens,
    max(p.peak_utilization) AS utilization
  FROM rollups l JOIN rollups p ON p.project_id = $1 AND p.grain = 1 AND p.harness = l.harness AND p.model = l.model
    AND p.bucket >= l.bucket AND p.bucket < l.bucket + l.grain * interval '1 minute'
  WHERE l.project_id = $1 AND l.grain > 1 AND l.bucket > $2::timestamptz - l.grain * interval '1 minute' AND l.bucket <= $3
  GROUP BY 1, 2, 3, 4
) o
WHERE r.project_id = $1 AND r.grain = o.grain AND r.bucket = o.bucket AND r.harness = o.harness AND r.model = o.model`;

/** A minute without any turn left has no peak to read. */
const FORGET_STALE = `
UPDATE rollups SET stale = false WHERE project_id = $1 AND grain = 1 AND stale AND bucket >= $2 AND bucket <= $3`;

/** Reads the peaks of some minutes again whose levels were corrected. Returns the number of minutes. */
export async function refreshStalePeaks(sql: WriterSql, projectId: number): Promise<number> {
  const minutes = (await sql.query<{ bucket: number }>(STALE, projectId)).map(({ bucket }) => bucket);
  if (minutes.length === 0) return 0;
  for (const [first, last] of spansOf(minutes)) {
    const from = new Date(first);
    const to = new Date(last);
    sql.send(READ_PEAKS, projectId, from, to);
    sql.send(READ_FLEET_PEAKS, projectId, from, to);
    sql.send(READ_LONGER_PEAKS, projectId, from, to);
    sql.send(FORGET_STALE, projectId, from, to);
  }
  return minutes.length;
}

/** Consecutive minutes read together; minutes far apart would read everything in between. */
function spansOf(minutes: readonly number[]): [first: number, last: number][] {
  const spans: [number, number][] = [];
  for (const minute of minutes) {
    const last = spans.at(-1);
    if (last !== undefined && minute - last[1] <= SLOT_MS) last[1] = minute;
    else spans.push([minute, minute]);
  }
  return spans;
}
