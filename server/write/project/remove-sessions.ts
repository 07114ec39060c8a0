import { BOUNDARY_TYPES } from "@plimsoll/protocol/events";
import type { Sql, WriterSql } from "../../db/sql.ts";
import { TALLY_OF } from "../../db/tables/agents.ts";
import { leaveSignal } from "../../db/tables/alert-signals.ts";
import { BOUNDARY_ORIGIN } from "../../db/tables/codes.ts";
import { unpackMinutes } from "../../db/tables/packed-minutes.ts";
import { readHistoryInRuns } from "../../db/tables/read-turns.ts";
import { addRemovedCounts, type RemovedCounts } from "../../db/tables/removed-counts.ts";
import {
  ADD_BOUNDARY_ROLLUP,
  ADD_INSIGHT_ROLLUP,
  ADD_ROLLUP,
  boundaryRollups,
  insightRollups,
  rollups,
} from "../../db/tables/rollups.ts";
import type { Statement } from "../../db/tables/table.ts";
import { turnFactsOf, turnReadingOf } from "../../db/tables/turns.ts";
import type { ProjectMemory } from "../memory/memory.ts";
import { RollupChanges } from "../plan/rollup-changes.ts";
import { SUM_SESSIONS } from "./describe.ts";
import { type HeldProject, hasExternalCause } from "./held-project.ts";
import { REMOVE_AFTER_MS } from "./undo-time.ts";

/** Why sessions are removed. Rollups lose what was deleted and keep what expired. */
export type RemovalReason = "deleted" | "expired";

/** Sessions and agents of one step, and turns after which no further agent is added to it. */
const STEP = { sessions: 50, agents: 200, turns: 20_000 };

interface DoomedSession {
  id: string;
  harness: string;
}

interface DoomedAgent
  extends Record<"turns" | (typeof TALLY_OF)[keyof typeof TALLY_OF] | "reclaimed", number> {
  id: string;
  number: number;
  sessionId: string;
  /** Marks that were reported. */
  marks: number;
}

const DUE = `s.deleted_at <= now() - ${REMOVE_AFTER_MS} * interval '1 ms'`;
const DELETED = `
SELECT s.id, s.harness FROM sessions s WHERE s.project_id = $1 AND ${DUE} ORDER BY s.deleted_at, s.id LIMIT ${STEP.sessions}`;
const EXPIRED = `
SELECT s.id, s.harness FROM sessions s WHERE s.project_id = $1 AND s.last_slot < $2::int4 AND s.deleted_at IS NULL
ORDER BY s.last_slot LIMIT ${STEP.sessions}`;
/** An undo, or a deletion, may have come in between. */
const LOCK: Record<RemovalReason, string> = {
  deleted: `SELECT s.id FROM sessions s WHERE s.project_id = $1 AND s.id = ANY($2::uuid[]) AND ${DUE} ORDER BY s.id FOR UPDATE`,
  expired:
    "SELECT s.id FROM sessions s WHERE s.project_id = $1 AND s.id = ANY($2::uuid[]) AND s.deleted_at IS NULL ORDER BY s.id FOR UPDATE",
};
const AGENTS = `
SELECT a.id, a.number, a.session_id AS "sessionId", a.turns, a.masked, a.compacted, a.subticks, a.restarts, a.cleared,
  a.unexplained, a.reclaimed::float8 AS reclaimed, (
    SELECT count(*) FROM boundaries b
    WHERE b.project_id = $1 AND b.agent_id = a.id AND b.origin = ${BOUNDARY_ORIGIN.reported})::int4 AS marks
FROM agents a WHERE a.project_id = $1 AND a.session_id = ANY($2::uuid[]) ORDER BY a.session_id, a.number LIMIT ${STEP.agents}`;
const BOUNDARIES = `
SELECT b.id, b.type, (extract(epoch FROM b.at) * 1000)::float8 AS at, b.window_index AS window,
  b.tokens_before AS "tokensBefore", b.tokens_after AS "tokensAfter"
FROM boundaries b WHERE b.project_id = $1 AND b.agent_id = $2::uuid AND b.type = ANY('{${BOUNDARY_TYPES.join(",")}}'::text[])`;

/** In the order of their owners; an agent and all its rows go in one transaction, because its number may be given again. */
const REMOVE_BY_NUMBER = ["turn_blocks", "segments", "agent_outcomes"].map(
  (table) => `DELETE FROM ${table} WHERE project_id = $1 AND agent = ANY($2::int4[])`,
);
const REMOVE_BY_AGENT = ["windows", "crossings", "boundaries", "refolds", "agent_contents"].map(
  (table) => `DELETE FROM ${table} WHERE project_id = $1 AND agent_id = ANY($2::uuid[])`,
);
const REMOVE_AGENTS = "DELETE FROM agents WHERE project_id = $1 AND id = ANY($2::uuid[])";
const REMOVE_SESSIONS = `
DELETE FROM sessions s WHERE s.project_id = $1 AND s.id = ANY($2::uuid[])
  AND NOT EXISTS (SELECT 1 FROM agents a WHERE a.project_id = $1 AND a.session_id = s.id) RETURNING s.id`;
/** What people added to a session. */
const REMOVE_ADDITIONS = ["session_tags", "session_notes"].map(
  (table) => `DELETE FROM ${table} WHERE project_id = $1 AND session_id = ANY($2::uuid[])`,
);

/** Removes some of the deleted sessions whose time for undo is over. Returns their ids; undefined if none is left. */
export async function removeDeletedSessions(project: HeldProject): Promise<readonly string[] | undefined> {
  const sessions = await project.query<DoomedSession>(DELETED, project.projectId);
  return sessions.length === 0 ? undefined : removeSessions(project, sessions, "deleted");
}

/**
 * Removes some of the sessions that ended before a slot (see `SLOT_MS`). Returns their ids; undefined if none is left.
 * @param alongside writes in the same transaction
 */
export async function removeExpiredSessions(
  project: HeldProject,
  slot: number,
  alongside: (sql: WriterSql) => void,
): Promise<readonly string[] | undefined> {
  const sessions = await project.query<DoomedSession>(EXPIRED, project.projectId, slot);
  return sessions.length === 0 ? undefined : removeSessions(project, sessions, "expired", alongside);
}

/** Removes as many agents of the sessions as fit in a step, and each session with its last agent. */
async function removeSessions(
  project: HeldProject,
  sessions: readonly DoomedSession[],
  reason: RemovalReason,
  alongside?: (sql: WriterSql) => void,
): Promise<readonly string[]> {
  const { projectId, memory } = project;
  const found = await project.query<DoomedAgent>(
    AGENTS,
    projectId,
    sessions.map(({ id }) => id),
  );
  const agents = fewTurns(found);
  const touched = touchedBy(sessions, agents, found.length);
  const plan = await planRemoval(project, sessions, agents, reason);
  const removed = await project.transaction(async (sql, { alerting }) => {
    const locked = await sql.query(LOCK[reason], projectId, touched);
    if (locked.length < touched.length) return undefined;
    for (const { text, values } of plan) sql.send(text, ...values);
    const numbers = agents.map(({ number }) => number);
    const ids = agents.map(({ id }) => id);
    for (const text of REMOVE_BY_NUMBER) sql.send(text, projectId, numbers);
    for (const text of REMOVE_BY_AGENT) sql.send(text, projectId, ids);
    sql.send(REMOVE_AGENTS, projectId, ids);
    const gone = await sql.query<{ id: string }>(REMOVE_SESSIONS, projectId, touched);
    const goneIds = new Set(gone.map(({ id }) => id));
    for (const text of REMOVE_ADDITIONS) sql.send(text, projectId, [...goneIds]);
    const left = touched.filter((id) => !goneIds.has(id));
    if (left.length > 0) sql.send(SUM_SESSIONS, projectId, left);
    if (alerting) leaveSignal(sql, projectId, touched);
    alongside?.(sql);
    return { sessions: touched, agents: ids };
  });
  if (removed === undefined) return [];
  memory.forgetAgents(removed.sessions, removed.agents);
  return removed.sessions;
}

/** The first agents, until they have many turns. */
function fewTurns(agents: readonly DoomedAgent[]): DoomedAgent[] {
  let turns = 0;
  const first: DoomedAgent[] = [];
  for (const agent of agents) {
    if (first.length > 0 && turns + agent.turns > STEP.turns) break;
    first.push(agent);
    turns += agent.turns;
  }
  return first;
}

/** The sessions whose agents are removed, and, if all agents were read, those without an agent. */
function touchedBy(
  sessions: readonly DoomedSession[],
  agents: readonly DoomedAgent[],
  found: number,
): string[] {
  if (agents.length === found && found < STEP.agents) return sessions.map(({ id }) => id);
  return [...new Set(agents.map(({ sessionId }) => sessionId))];
}

/** What the removal of agents changes elsewhere: rollups, and the counts of what was removed. */
async function planRemoval(
  project: HeldProject,
  sessions: readonly DoomedSession[],
  agents: readonly DoomedAgent[],
  reason: RemovalReason,
): Promise<Statement[]> {
  const { projectId, memory, settings, log } = project;
  const harnesses = new Map(sessions.map(({ id, harness }) => [id, harness]));
  /** Agents that rollups go on counting. */
  const counted = new Set(reason === "expired" ? agents : []);
  for (;;) {
    const changes = new RollupChanges();
    let failed: DoomedAgent | undefined;
    for (const agent of agents) {
      if (counted.has(agent)) continue;
      try {
        await subtract(project, memory, changes, agent, harnesses.get(agent.sessionId)!);
      } catch (err) {
        if (hasExternalCause(err)) throw err;
        log.error({ err, projectId, agentId: agent.id }, "rollups keep a deleted agent that cannot be read");
        failed = agent;
        break;
      }
    }
    if (failed === undefined) {
      const names = await memory.rollupNames.admit(project, changes, settings.namesPerDay);
      if (names.length > 0)
        log.warn({ projectId, names: names.length }, "rollups lacked names of what is deleted");
      return [...rollupStatements(memory, changes), ...countStatements(projectId, agents, counted)];
    }
    counted.add(failed);
  }
}

/** Takes an agent's turns and boundaries out of the rollups. */
async function subtract(
  sql: Pick<Sql, "query">,
  memory: ProjectMemory,
  changes: RollupChanges,
  agent: DoomedAgent,
  harness: string,
): Promise<void> {
  for await (const rows of readHistoryInRuns(sql, memory.projectId, agent.number)) {
    for (const row of rows)
      changes.removeTurn(harness, turnReadingOf(row, turnFactsOf(row, memory.modelName)));
  }
  for (const { tokensBefore, tokensAfter, ...boundary } of await sql.query<StoredBoundary>(
    BOUNDARIES,
    memory.projectId,
    agent.id,
  )) {
    const reading = {
      ...boundary,
      tokensBefore: tokensBefore ?? undefined,
      tokensAfter: tokensAfter ?? undefined,
    };
    changes.addBoundary(harness, reading, -1);
  }
}

interface StoredBoundary {
  id: string;
  type: (typeof BOUNDARY_TYPES)[number];
  at: number;
  window: number;
  tokensBefore: number | null;
  tokensAfter: number | null;
}

function rollupStatements({ projectId, packedTo }: ProjectMemory, changes: RollupChanges): Statement[] {
  const { turns, boundaries, insights } = changes.everyGrain();
  return [
    ...(turns.length === 0
      ? []
      : [
          ...unpackMinutes(projectId, turns, packedTo),
          rollups.upsert(projectId, turns, ADD_ROLLUP),
          // A stale row leads to the longer buckets whose peak is read again; see stale-peaks.ts.
          rollups.delete(projectId, turns, "AND t.turns = 0 AND NOT t.stale"),
        ]),
    ...(boundaries.length === 0
      ? []
      : [
          boundaryRollups.upsert(projectId, boundaries, ADD_BOUNDARY_ROLLUP),
          boundaryRollups.delete(projectId, boundaries, "AND t.count = 0"),
        ]),
    ...(insights.length === 0
      ? []
      : [
          insightRollups.upsert(projectId, insights, ADD_INSIGHT_ROLLUP),
          insightRollups.delete(projectId, insights, "AND t.tokens = 0"),
        ]),
  ];
}

function countStatements(
  projectId: number,
  agents: readonly DoomedAgent[],
  counted: ReadonlySet<DoomedAgent>,
): Statement[] {
  const acknowledged = { turns: 0, marks: 0 };
  const inRollups: Record<string, number> = {};
  const add = (what: string, count: number) => {
    inRollups[what] = (inRollups[what] ?? 0) + count;
  };
  for (const agent of agents) {
    acknowledged.turns += agent.turns;
    acknowledged.marks += agent.marks;
    if (!counted.has(agent)) continue;
    add("turns", agent.turns);
    add("reclaimed", agent.reclaimed);
    for (const type of BOUNDARY_TYPES) add(type, agent[TALLY_OF[type]]);
  }
  const statements: ["ingest" | "rollups", RemovedCounts][] = [
    ["ingest", acknowledged],
    ["rollups", inRollups],
  ];
  return statements.flatMap(([where, counts]) => addRemovedCounts(projectId, where, counts) ?? []);
}
