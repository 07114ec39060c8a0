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
SELECT agent_id FROM refolds WHERE project_id = $1 AND reason <> 'failed' ORDER BY asked_at, agent_id LIMIT 1`;
const HARNESS_OF = "SELECT harness FROM sessions WHERE project_id = $1 AND id = $2::uuid";

/** The agent whose refold was asked for first; undefined if there is none. */
export async function nextRefold(sql: Pick<Sql, "query">, projectId: number): Promise<string | undefined> {
  const [next] = await sql.query<{ agent_id: string }>(NEXT_REFOLD, projectId);
  return next?.agent_id;
}

const NO_NEWS: AgentNews = { newTurns: [], changedTurns: [], newMarks: [], replacedMarks: [], outcomes: [] };

/** Plans the fold of an agent's whole history; undefined if the agent is gone. */
export async function planRefold(
  sql: Pick<Sql, "query">,
  memory: ProjectMemory,
  agentId: string,
  settings: ProjectSettings,
): Promise<ChunkPlan | undefined> {
  const { projectId } = memory;
  await memory.loadAgents(sql, [agentId]);
  const known = memory.agents.get(agentId);
  if (known === undefined) return undefined;
  await memory.loadSessions(sql, [known.row.sessionId]);
  const [owner] = await sql.query<{ harness: string }>(HARNESS_OF, projectId, known.row.sessionId);
  const harness = owner?.harness ?? "";
  const { sessionId, name, parent, firstAt, lastAt, lastReceivedAt: receivedAt } = known.row;
  const { changes } = await refoldAgent({
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
  return {
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
}

/** Minutes whose peak is read again in one step. */
const STALE_MINUTES = 120;

/** The oldest minutes whose peak may be too high, all harnesses and models of each. */
const STALE = `
SELECT DISTINCT (extract(epoch FROM bucket) * 1000)::float8 AS bucket FROM rollups
WHERE project_id = $1 AND grain = 1 AND stale ORDER BY 1 LIMIT ${STALE_MINUTES}`;

/** One pass over the turns of those minutes, materialized: a plan may otherwise repeat it for each minute. */
const READ_PEAKS = `
WITH minutes AS MATERIALIZED (
  SELECT DISTINCT r.bucket, r.harness, r.model FROM rollups r
  WHERE r.project_id = $1 AND r.grain = 1 AND r.stale AND r.harness <> '${ALL}' AND r.bucket >= $2 AND r.bucket <= $3
), found AS MATERIALIZED (
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

/** Milliseconds after which an agent that is not heard from keeps no state. */
const IDLE_MS = 24 * 3_600_000;
/** Agents in one step. */
const IDLE_AGENTS = 500;

/**
 * Takes the states of idle agents away, a kilobyte each, and gives the window each is in a row instead. An agent that is
 * heard from again is folded from its last cut.
 */
const DROP_STATES = `
WITH idle AS (
  SELECT a.id, a.state::jsonb->1 AS w FROM agents a
  WHERE a.project_id = $1 AND a.has_state AND a.last_received_at < to_timestamp($2::float8 / 1000)
  ORDER BY a.number LIMIT ${IDLE_AGENTS}
), over AS (
  INSERT INTO windows (project_id, agent_id, index, first_at, last_at, turns, first_tokens, last_tokens, peak_tokens,
    peak_utilization, window_tokens)
  SELECT $1, id, (w->>0)::int4, to_timestamp((w->>1)::float8 / 1000), to_timestamp((w->>2)::float8 / 1000),
    (w->>3)::int4, (w->>4)::int4, (w->>5)::int4, (w->>6)::int4, (w->>7)::float4, (w->>8)::int4
  FROM idle WHERE jsonb_typeof(w) = 'array' ON CONFLICT (project_id, agent_id, index) DO NOTHING
)
UPDATE agents a SET state = NULL, has_state = false FROM idle i WHERE a.project_id = $1 AND a.id = i.id RETURNING a.id`;

/** Returns the ids of the agents whose state was dropped. `now` in epoch ms. */
export async function dropIdleStates(
  sql: Pick<Sql, "query">,
  projectId: number,
  now: number,
): Promise<string[]> {
  return (await sql.query<{ id: string }>(DROP_STATES, projectId, now - IDLE_MS)).map(({ id }) => id);
}
