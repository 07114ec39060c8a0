import type { Sql } from "../../db/sql.ts";
import { leaveSignal } from "../../db/tables/alert-signals.ts";
import { DAY_MS } from "../../times.ts";
import type { ProjectMemory } from "../memory/memory.ts";
import type { AgentNews } from "../plan/agent-news.ts";
import { inSlices } from "../plan/in-slices.ts";
import { Ledger } from "../plan/outcomes.ts";
import { planSession } from "../plan/plan-session.ts";
import { openHistory } from "../plan/read-history.ts";
import { refoldAgent } from "../plan/refold-agent.ts";
import { RollupChanges } from "../plan/rollup-changes.ts";
import { tailAfterRefold } from "../plan/tail.ts";
import { applyRetention } from "./apply-retention.ts";
import { countOutcomes } from "./count-outcomes.ts";
import { type HeldProject, hasExternalCause } from "./held-project.ts";
import { packOldestHour } from "./pack-hours.ts";
import { addToRollups, agentOptions, type ChunkPlan, outcomeOf, type ProjectSettings } from "./plan-chunk.ts";
import { removeDeletedHarnesses } from "./remove-harnesses.ts";
import { removeDeletedSessions } from "./remove-sessions.ts";
import { refreshStalePeaks } from "./stale-peaks.ts";
import { encodeChunk, MemoryOutdated, remember, sendChunk } from "./write-chunk.ts";

/**
 * Does one bounded piece of work on what is already stored. Returns the ids of the sessions that changed; undefined if
 * nothing is left to do.
 */
export async function upkeepStep(project: HeldProject): Promise<readonly string[] | undefined> {
  const { projectId, memory } = project;
  const removed = await removeSome(project);
  if (removed !== undefined) return removed;
  const next = await nextRefold(project, projectId);
  if (next !== undefined) return refold(project, next);
  if ((await countOutcomes(project)) > 0) return [];
  const { dropped, refreshed } = await project.transaction(async (sql) => ({
    dropped: await dropIdleStates(sql, projectId, project.now()),
    refreshed: await refreshStalePeaks(sql, projectId),
  }));
  for (const id of dropped) memory.agents.delete(id);
  if (dropped.length > 0 || refreshed > 0) return [];
  return (await packOldestHour(project)) ? [] : undefined;
}

/** Before anything else: what is removed need not be computed again. */
async function removeSome(project: HeldProject): Promise<readonly string[] | undefined> {
  const deleted = await removeDeletedSessions(project);
  if (deleted !== undefined) return deleted;
  if (await removeDeletedHarnesses(project)) return [];
  return applyRetention(project);
}

/** An agent to fold again, and the time (epoch ms) up to which that is done. */
interface WaitingRefold {
  agentId: string;
  doneTo: number | undefined;
}

const NEXT_REFOLD = `
SELECT agent_id AS "agentId", (extract(epoch FROM done_to) * 1000)::float8 AS "doneTo"
FROM refolds WHERE project_id = $1 AND reason <> 'failed' ORDER BY asked_at, agent_id LIMIT 1`;

/** The refold that was asked for first; undefined if there is none. */
async function nextRefold(sql: Pick<Sql, "query">, projectId: number): Promise<WaitingRefold | undefined> {
  const [next] = await sql.query<{ agentId: string; doneTo: number | null }>(NEXT_REFOLD, projectId);
  return next && { ...next, doneTo: next.doneTo ?? undefined };
}

const REFOLDED = "DELETE FROM refolds WHERE project_id = $1 AND agent_id = $2::uuid";
const REFOLDED_TO = `
UPDATE refolds SET done_to = to_timestamp($3::float8 / 1000) WHERE project_id = $1 AND agent_id = $2::uuid`;
const SET_ASIDE = "UPDATE refolds SET reason = 'failed' WHERE project_id = $1 AND agent_id = $2::uuid";

/**
 * Folds one agent again, or a part of a long history: the next step goes on from there. An agent that cannot be folded is
 * set aside, so the others go on. Returns the ids of the sessions that changed.
 */
async function refold(project: HeldProject, waiting: WaitingRefold): Promise<readonly string[]> {
  const { agentId } = waiting;
  const { projectId, memory, settings, log } = project;
  try {
    const planned = await planRefold(project, memory, waiting, settings);
    const plan = planned?.plan;
    const statements = plan === undefined ? [] : await inSlices(encodeChunk(memory, plan));
    await project.transaction(async (sql, { alerting }) => {
      if (plan !== undefined) {
        await sendChunk(sql, statements);
        if (alerting) leaveSignal(sql, projectId, outcomeOf(plan).sessions);
      }
      if (planned?.doneTo === undefined) sql.send(REFOLDED, projectId, agentId);
      else sql.send(REFOLDED_TO, projectId, agentId, planned.doneTo);
    });
    if (plan === undefined) return [];
    remember(memory, plan);
    return outcomeOf(plan).sessions;
  } catch (error) {
    if (hasExternalCause(error) || error instanceof MemoryOutdated) throw error;
    log.error({ err: error, projectId, agentId }, "an agent could not be folded again");
    project.forget();
    // Proves the lease: a process that was replaced may fail only because it remembers what is outdated.
    await project.transaction(async (sql) => sql.send(SET_ASIDE, projectId, agentId));
    return [];
  }
}

const HARNESS_OF = "SELECT harness FROM sessions WHERE project_id = $1 AND id = $2::uuid";
const NO_NEWS: AgentNews = { newTurns: [], changedTurns: [], newMarks: [], replacedMarks: [], outcomes: [] };

/** Plans the next step of the fold of an agent's whole history; undefined if the agent is gone. */
async function planRefold(
  sql: Pick<Sql, "query">,
  memory: ProjectMemory,
  { agentId, doneTo: from }: WaitingRefold,
  settings: ProjectSettings,
): Promise<{ plan: ChunkPlan; doneTo: number | undefined } | undefined> {
  const { projectId } = memory;
  await memory.loadAgents(sql, [agentId]);
  const known = memory.agents.get(agentId);
  if (known === undefined) return undefined;
  await memory.loadSessions(sql, [known.row.sessionId]);
  const [owner] = await sql.query<{ harness: string }>(HARNESS_OF, projectId, known.row.sessionId);
  const harness = owner?.harness ?? "";
  const { sessionId, lastReceivedAt: receivedAt } = known.row;
  const optionsOf = await agentOptions(sql, memory, settings, [harness]);
  const { changes, tail, doneTo } = await refoldAgent({
    history: openHistory(sql, projectId, known.row, memory.modelName),
    agent: { ...known.row, harness, receivedAt, stopped: undefined },
    known,
    news: NO_NEWS,
    options: optionsOf(harness),
    extent: "to_the_end",
    doneTo: from,
  });
  // What the tail held was read with the settings of before.
  const before = memory.tails.get(agentId);
  if (before !== undefined) memory.tails.set(agentId, tailAfterRefold(before, tail));
  const rollups = new RollupChanges();
  await inSlices(addToRollups(rollups, changes));
  const session = memory.sessions.get(sessionId);
  const change = { before: changes.before, after: changes.after.row, refolded: true };
  const plan: ChunkPlan = {
    agents: [changes],
    harnessMarks: [],
    sessions: session === undefined ? [] : [planSession(session.row, session, [change])],
    moves: [],
    harnesses: [],
    machines: [],
    contents: [],
    quotas: [],
    describedSessions: [],
    describedHarnesses: [],
    rollups,
    rollupNames: await memory.rollupNames.admit(sql, rollups, settings.namesPerDay),
    models: new Map(),
    rejudged: new Map(),
    resized: new Map(),
    refolds: [],
    ledger: new Ledger(),
  };
  return { plan, doneTo };
}

/** Milliseconds after which an agent that is not heard from keeps no state. */
const IDLE_MS = DAY_MS;
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
async function dropIdleStates(sql: Pick<Sql, "query">, projectId: number, now: number): Promise<string[]> {
  return (await sql.query<{ id: string }>(DROP_STATES, projectId, now - IDLE_MS)).map(({ id }) => id);
}
