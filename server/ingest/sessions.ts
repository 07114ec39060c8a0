import { BIN_WIDTH, DEFAULT_AGENT, larger } from "@plimsoll/protocol";
import type { Sql } from "../db/sql.ts";
import type { AgentRow, Tally } from "./agents.ts";
import { agentLoad, EMPTY_TALLY, TALLY_COLUMNS } from "./agents.ts";
import type { BatchSession, SessionStatement } from "./batch.ts";
import { describeSession } from "./batch.ts";
import { arrayLiteral, Columns } from "./columns.ts";
import { SLOT_MS } from "./slots.ts";

/**
 * Keeps two writers from storing the same event of a harness at once. It belongs to no session, so this lock is one that
 * nothing else takes. Before the sessions', in one order everywhere.
 */
export async function lockHarnesses(sql: Sql, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  await sql.execute(
    "SELECT pg_advisory_xact_lock(hashtextextended(id, 0)) FROM unnest($1::text[]) AS r(id)",
    arrayLiteral([...ids].sort()),
  );
}

const LOCK = `
SELECT s.id FROM sessions s JOIN unnest($1::int4[], $2::uuid[]) AS r(p, i) ON s.project_id = r.p AND s.id = r.i
ORDER BY s.project_id, s.id FOR UPDATE OF s`;

/** Locks every session of the batch, in one order everywhere so that writers cannot deadlock, and creates what is new. */
export async function lockSessions(
  sql: Sql,
  sessions: readonly BatchSession[],
  receivedAt: number,
): Promise<void> {
  if (sessions.length === 0) return;
  const locked = await sql.query<{ id: string }>(
    LOCK,
    arrayLiteral(sessions.map((session) => session.projectId)),
    arrayLiteral(sessions.map((session) => session.id)),
  );
  if (locked.length === sessions.length) return;
  const known = new Set(locked.map(({ id }) => id));
  const created = sessions.filter((session) => !known.has(session.id));
  await writeSessions(sql, created.map(emptyRow).sort(byKey), receivedAt);
}

/** What a batch adds to a session: differences, and the peaks that its agents reached. */
export interface SessionRow {
  session: BatchSession;
  agents: number;
  turns: number;
  windows: number;
  tally: Tally;
  peakTokens: number | undefined;
  peakUtilization: number | undefined;
  /** The agent that stands for the session, where it moved. */
  main: AgentRow | undefined;
}

/**
 * What agents that moved add to their sessions. `uncertain` are sessions of which only all their agents tell: one was
 * read again and may have lost something, or none of the default name is known, so that another may stand for the session.
 */
export function sessionRows(
  sessions: readonly BatchSession[],
  agents: readonly AgentRow[],
  knowsMain: (session: BatchSession) => boolean,
): { rows: SessionRow[]; uncertain: BatchSession[] } {
  const rows = new Map(sessions.map((session) => [session.id, emptyRow(session)]));
  const uncertain = new Set<string>();
  for (const agent of agents) {
    const row = rows.get(agent.sessionId)!;
    if (agent.readAgain) uncertain.add(agent.sessionId);
    if (agent.name === DEFAULT_AGENT) row.main = agent;
    addAgent(row, agent);
  }
  for (const { session, main } of rows.values()) {
    if (main === undefined ? !knowsMain(session) : main.before === undefined) uncertain.add(session.id);
  }
  return {
    // In one order everywhere, so that writers that meet do not deadlock.
    rows: [...rows.values()]
      .map((row) => (uncertain.has(row.session.id) ? emptyRow(row.session) : row))
      .sort(byKey),
    uncertain: sessions.filter((session) => uncertain.has(session.id)),
  };
}

function emptyRow(session: BatchSession): SessionRow {
  return {
    session,
    agents: 0,
    turns: 0,
    windows: 0,
    tally: { ...EMPTY_TALLY },
    peakTokens: undefined,
    peakUtilization: undefined,
    main: undefined,
  };
}

function addAgent(row: SessionRow, { state, tally, before }: AgentRow): void {
  if (before === undefined) row.agents += 1;
  row.turns += state.turns - (before?.state.turns ?? 0);
  row.windows += state.windows - (before?.state.windows ?? 0);
  for (const key of Object.keys(tally) as (keyof Tally)[]) {
    row.tally[key] += tally[key] - (before?.tally[key] ?? 0);
  }
  row.peakTokens = larger(row.peakTokens, state.peak?.tokens);
  row.peakUtilization = larger(row.peakUtilization, state.peakUtilization);
}

function byKey({ session: a }: SessionRow, { session: b }: SessionRow): number {
  return a.projectId - b.projectId || (a.id < b.id ? -1 : 1);
}

const COLUMNS = new Columns<SessionRow>([
  ["project_id", "int4", (row) => row.session.projectId],
  ["id", "uuid", (row) => row.session.id],
  ["harness", "text", (row) => row.session.harness],
  ["name", "text", (row) => row.session.name],
  ["first_ms", "float8", (row) => row.session.firstAt],
  ["last_ms", "float8", (row) => row.session.lastAt],
  ["agents", "int4", (row) => row.agents],
  ["turns", "int4", (row) => row.turns],
  ["windows", "int4", (row) => row.windows],
  ...TALLY_COLUMNS,
  ["peak_tokens", "int4", (row) => row.peakTokens],
  ["peak_utilization", "float4", (row) => row.peakUtilization],
  ["model", "text", ({ main }) => main?.state.model],
  ["current_tokens", "int4", ({ main }) => main?.state.current],
  ["current_window", "int4", ({ main }) => main?.state.windowTokens],
  ["load", "float4", ({ main }) => main && agentLoad(main)],
]);

const RECEIVED = `$${COLUMNS.count + 1}::float8`;
const PEAK_BIN = (utilization: string) =>
  `LEAST(COALESCE(floor(${utilization} / ${BIN_WIDTH}), -1), 32767)::int2`;

/** A row without a model brings nothing of the agent that stands for the session: once it has one it keeps one. */
const UPSERT = `
INSERT INTO sessions AS s (project_id, id, harness, name, first_at, last_at, last_received_at, first_slot, last_slot,
  open_slot, agents, turns, windows, masked, compacted, subticks, restarts, cleared, unexplained, reclaimed, warnings,
  warned, peak_tokens, peak_utilization, peak_bin, model, current_tokens, current_window, load)
SELECT project_id, id, harness, name, to_timestamp(first_ms / 1000), to_timestamp(last_ms / 1000),
  to_timestamp(${RECEIVED} / 1000), floor(first_ms / ${SLOT_MS}), floor(last_ms / ${SLOT_MS}),
  floor(${RECEIVED} / ${SLOT_MS}), agents, turns, windows, masked, compacted, subticks, restarts, cleared, unexplained,
  reclaimed, warnings, warnings > 0, peak_tokens, peak_utilization, ${PEAK_BIN("peak_utilization")}, model,
  current_tokens, current_window, load
FROM (${COLUMNS.select}) r
ON CONFLICT (project_id, id) DO UPDATE SET first_at = LEAST(s.first_at, EXCLUDED.first_at),
  last_at = GREATEST(s.last_at, EXCLUDED.last_at),
  last_received_at = GREATEST(s.last_received_at, EXCLUDED.last_received_at),
  first_slot = LEAST(s.first_slot, EXCLUDED.first_slot), last_slot = GREATEST(s.last_slot, EXCLUDED.last_slot),
  open_slot = CASE WHEN s.ended_at >= GREATEST(s.last_at, EXCLUDED.last_at) THEN -1
    ELSE floor(extract(epoch FROM GREATEST(s.last_received_at, EXCLUDED.last_received_at)) * 1000 / ${SLOT_MS})::int4 END,
  agents = s.agents + EXCLUDED.agents, turns = s.turns + EXCLUDED.turns, windows = s.windows + EXCLUDED.windows,
  masked = s.masked + EXCLUDED.masked, compacted = s.compacted + EXCLUDED.compacted,
  subticks = s.subticks + EXCLUDED.subticks, restarts = s.restarts + EXCLUDED.restarts,
  cleared = s.cleared + EXCLUDED.cleared, unexplained = s.unexplained + EXCLUDED.unexplained,
  reclaimed = s.reclaimed + EXCLUDED.reclaimed, warnings = s.warnings + EXCLUDED.warnings,
  warned = s.warnings + EXCLUDED.warnings > 0, peak_tokens = GREATEST(s.peak_tokens, EXCLUDED.peak_tokens),
  peak_utilization = GREATEST(s.peak_utilization, EXCLUDED.peak_utilization),
  peak_bin = GREATEST(s.peak_bin, EXCLUDED.peak_bin), model = COALESCE(EXCLUDED.model, s.model),
  current_tokens = CASE WHEN EXCLUDED.model IS NULL THEN s.current_tokens ELSE EXCLUDED.current_tokens END,
  current_window = CASE WHEN EXCLUDED.model IS NULL THEN s.current_window ELSE EXCLUDED.current_window END,
  load = CASE WHEN EXCLUDED.model IS NULL THEN s.load ELSE EXCLUDED.load END`;

/** Adds to the sessions, and makes those that are new. From here to the commit nobody else writes them or their agents. */
export async function writeSessions(
  sql: Sql,
  rows: readonly SessionRow[],
  receivedAt: number,
): Promise<void> {
  if (rows.length > 0) await sql.execute(UPSERT, ...COLUMNS.parameters(rows), receivedAt);
}

const SUM = `
UPDATE sessions s SET peak_bin = ${PEAK_BIN("a.peak_utilization")}, model = m.model,
  current_tokens = m.current_tokens, current_window = m.current_window, load = m.load,
  peak_tokens = a.peak_tokens, peak_utilization = a.peak_utilization, turns = a.turns, agents = a.agents,
  windows = a.windows, masked = a.masked, compacted = a.compacted, subticks = a.subticks, restarts = a.restarts,
  cleared = a.cleared, unexplained = a.unexplained, reclaimed = a.reclaimed, warnings = a.warnings,
  warned = a.warnings > 0
FROM unnest($1::int4[], $2::uuid[]) AS r(project_id, id)
CROSS JOIN LATERAL (
  SELECT max(a.peak_tokens) AS peak_tokens, max(a.peak_utilization) AS peak_utilization, sum(a.turns) AS turns,
    count(*) AS agents, sum(a.windows) AS windows, sum(a.masked) AS masked, sum(a.compacted) AS compacted,
    sum(a.subticks) AS subticks, sum(a.restarts) AS restarts, sum(a.cleared) AS cleared,
    sum(a.unexplained) AS unexplained, sum(a.reclaimed) AS reclaimed, sum(a.warnings) AS warnings
  FROM agents a WHERE a.project_id = r.project_id AND a.session_id = r.id
) a
CROSS JOIN LATERAL (
  SELECT m.model, m.current_tokens, m.current_window, m.load FROM agents m
  WHERE m.project_id = r.project_id AND m.session_id = r.id
  ORDER BY m.name = '${DEFAULT_AGENT}' DESC, m.parent IS NULL DESC, m.first_at, m.id LIMIT 1
) m
WHERE s.project_id = r.project_id AND s.id = r.id`;

/** Takes a session's figures anew from all its agents; after it was written, so that no other writer is among them. */
export async function sumSessions(sql: Sql, sessions: readonly BatchSession[]): Promise<void> {
  if (sessions.length === 0) return;
  await sql.execute(
    SUM,
    arrayLiteral(sessions.map((session) => session.projectId)),
    arrayLiteral(sessions.map((session) => session.id)),
  );
}

/** Reads title, kind and end again from all that was said of a session, in order. */
export async function describeSessions(sql: Sql, sessions: readonly BatchSession[]): Promise<void> {
  for (const session of sessions) {
    if (!session.described) continue;
    const rows = await sql.query<{ id: string; at: Date; detail: Omit<SessionStatement, "id" | "at"> }>(
      `SELECT b.id, b.at, b.detail FROM agents a
       JOIN boundaries b ON b.project_id = a.project_id AND b.agent_id = a.id AND b.type = 'session'
       WHERE a.project_id = $1 AND a.session_id = $2::uuid`,
      session.projectId,
      session.id,
    );
    const description = describeSession(
      rows.map(({ id, at, detail }) => ({ ...detail, id, at: at.getTime() })),
    );
    if (description === undefined) continue;
    await sql.execute(
      `UPDATE sessions SET kind = $3, title = $4, meta_at = to_timestamp($5::float8 / 1000),
         started_at = to_timestamp($6::float8 / 1000), ended_at = to_timestamp($7::float8 / 1000), end_reason = $8,
         open_slot = CASE WHEN to_timestamp($7::float8 / 1000) >= last_at THEN -1
           ELSE floor(extract(epoch FROM last_received_at) * 1000 / ${SLOT_MS})::int4 END
       WHERE project_id = $1 AND id = $2::uuid`,
      session.projectId,
      session.id,
      description.kind,
      description.title,
      description.metaAt,
      description.startedAt,
      description.endedAt,
      description.endReason,
    );
  }
}
