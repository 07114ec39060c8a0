import { BIN_WIDTH, DEFAULT_AGENT } from "@plimsoll/protocol";
import type { Sql, WriterSql } from "../db/sql.ts";
import type { BatchSession, SessionStatement } from "./batch.ts";
import { describeSession } from "./batch.ts";
import { arrayLiteral, Columns } from "./columns.ts";
import { SLOT_MS } from "./slots.ts";

/**
 * Keeps two writers from storing the same event of a harness at once. It belongs to no session, so this lock is one that
 * nothing else takes. Before the agents', in one order everywhere.
 */
export async function lockHarnesses(sql: Sql, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  await sql.execute(
    "SELECT pg_advisory_xact_lock(hashtextextended(id, 0)) FROM unnest($1::text[]) AS r(id)",
    arrayLiteral([...ids].sort()),
  );
}

/** What names a session. */
export interface SessionKey {
  projectId: number;
  id: string;
}

const COLUMNS = new Columns<BatchSession>([
  ["project_id", "int4", (session) => session.projectId],
  ["id", "uuid", (session) => session.id],
  ["harness", "text", (session) => session.harness],
  ["name", "text", (session) => session.name],
  ["first_ms", "float8", (session) => session.firstAt],
  ["last_ms", "float8", (session) => session.lastAt],
]);

const CREATE = `
INSERT INTO sessions (project_id, id, harness, name, first_at, last_at, last_received_at)
SELECT project_id, id, harness, name, to_timestamp(first_ms / 1000), to_timestamp(last_ms / 1000),
  to_timestamp($${COLUMNS.count + 1}::float8 / 1000)
FROM (${COLUMNS.select}) r
ON CONFLICT (project_id, id) DO NOTHING`;

/** Makes the sessions that are not there yet; what is known of each is taken from its agents when it is settled. */
export function createSessions(sql: WriterSql, sessions: readonly BatchSession[], receivedAt: number): void {
  if (sessions.length === 0) return;
  const sorted = [...sessions].sort(byKey);
  sql.send(CREATE, ...COLUMNS.parameters(sorted), receivedAt);
}

function byKey(a: SessionKey, b: SessionKey): number {
  return a.projectId - b.projectId || (a.id < b.id ? -1 : 1);
}

const slot = (time: string): string => `floor(extract(epoch FROM ${time}) * 1000 / ${SLOT_MS})::int4`;

const SUM = `
UPDATE sessions s SET first_at = a.first_at, last_at = a.last_at, last_received_at = a.last_received_at,
  first_slot = ${slot("a.first_at")}, last_slot = ${slot("a.last_at")},
  open_slot = CASE WHEN s.ended_at >= a.last_at THEN -1 ELSE ${slot("a.last_received_at")} END,
  agents = a.agents, turns = a.turns, windows = a.windows, masked = a.masked, compacted = a.compacted,
  subticks = a.subticks, restarts = a.restarts, cleared = a.cleared, unexplained = a.unexplained,
  reclaimed = a.reclaimed, warnings = a.warnings, warned = a.warnings > 0, peak_tokens = a.peak_tokens,
  peak_utilization = a.peak_utilization,
  peak_bin = LEAST(COALESCE(floor(a.peak_utilization / ${BIN_WIDTH}), -1), 32767)::int2,
  model = m.model, current_tokens = m.current_tokens, current_window = m.current_window, load = m.load
FROM unnest($1::int4[], $2::uuid[]) AS r(project_id, id)
CROSS JOIN LATERAL (
  SELECT min(a.first_at) AS first_at, max(a.last_at) AS last_at, max(a.last_received_at) AS last_received_at,
    count(*) AS agents, sum(a.turns) AS turns, sum(a.windows) AS windows, sum(a.masked) AS masked,
    sum(a.compacted) AS compacted, sum(a.subticks) AS subticks, sum(a.restarts) AS restarts,
    sum(a.cleared) AS cleared, sum(a.unexplained) AS unexplained, sum(a.reclaimed) AS reclaimed,
    sum(a.warnings) AS warnings, max(a.peak_tokens) AS peak_tokens, max(a.peak_utilization) AS peak_utilization
  FROM agents a WHERE a.project_id = r.project_id AND a.session_id = r.id
) a
CROSS JOIN LATERAL (
  SELECT m.model, m.current_tokens, m.current_window, m.load FROM agents m
  WHERE m.project_id = r.project_id AND m.session_id = r.id
  ORDER BY m.name = '${DEFAULT_AGENT}' DESC, m.parent IS NULL DESC, m.first_at, m.id LIMIT 1
) m
WHERE s.project_id = r.project_id AND s.id = r.id`;

/** Takes all of each session's figures from all its agents. */
export function sumSessions(sql: WriterSql, sessions: readonly SessionKey[]): void {
  if (sessions.length === 0) return;
  sql.send(
    SUM,
    arrayLiteral(sessions.map((session) => session.projectId)),
    arrayLiteral(sessions.map((session) => session.id)),
  );
}

const STATEMENTS = `
SELECT b.id, b.at, b.detail FROM agents a
JOIN boundaries b ON b.project_id = a.project_id AND b.agent_id = a.id AND b.type = 'session'
WHERE a.project_id = $1 AND a.session_id = $2::uuid`;

const DESCRIBE = `
UPDATE sessions SET kind = $3, title = $4, meta_at = to_timestamp($5::float8 / 1000),
  started_at = to_timestamp($6::float8 / 1000), ended_at = to_timestamp($7::float8 / 1000), end_reason = $8,
  open_slot = CASE WHEN to_timestamp($7::float8 / 1000) >= last_at THEN -1 ELSE ${slot("last_received_at")} END
WHERE project_id = $1 AND id = $2::uuid`;

/** Reads title, kind and end of each session again from all that was said of it, in order. After it was summed. */
export async function describeSessions(sql: WriterSql, sessions: readonly SessionKey[]): Promise<void> {
  await Promise.all(
    sessions.map(async ({ projectId, id }) => {
      const rows = await sql.query<{ id: string; at: Date; detail: Omit<SessionStatement, "id" | "at"> }>(
        STATEMENTS,
        projectId,
        id,
      );
      const said = describeSession(rows.map((row) => ({ ...row.detail, id: row.id, at: row.at.getTime() })));
      if (said === undefined) return;
      const { kind, title, metaAt, startedAt, endedAt, endReason } = said;
      sql.send(DESCRIBE, projectId, id, kind, title, metaAt, startedAt, endedAt, endReason);
    }),
  );
}
