import { BIN_WIDTH } from "@plimsoll/protocol";
import type { Sql } from "../db/sql.ts";
import type { BatchSession, SessionStatement } from "./batch.ts";
import { describeSession } from "./batch.ts";
import { arrayLiteral, Columns } from "./columns.ts";
import { SLOT_MS } from "./slots.ts";

const SESSION_COLUMNS = new Columns<BatchSession>([
  ["project_id", "int4", (session) => session.projectId],
  ["id", "uuid", (session) => session.id],
  ["harness", "text", (session) => session.harness],
  ["name", "text", (session) => session.name],
  ["first_ms", "float8", (session) => session.firstAt],
  ["last_ms", "float8", (session) => session.lastAt],
]);

const RECEIVED = `$${SESSION_COLUMNS.count + 1}::float8`;

/**
 * Keeps two writers from storing the same event of a harness at once. It belongs to no session, and its own row is
 * written later (see settle.ts), so this lock is one that nothing else takes. Before the sessions', in one order
 * everywhere.
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

const CREATE = `
INSERT INTO sessions (project_id, id, harness, name, first_at, last_at, last_received_at, first_slot, last_slot,
  open_slot)
SELECT project_id, id, harness, name, to_timestamp(first_ms / 1000), to_timestamp(last_ms / 1000),
  to_timestamp(${RECEIVED} / 1000), floor(first_ms / ${SLOT_MS}), floor(last_ms / ${SLOT_MS}),
  floor(${RECEIVED} / ${SLOT_MS})
FROM (${SESSION_COLUMNS.select}) r ORDER BY project_id, id
ON CONFLICT (project_id, id) DO UPDATE SET name = EXCLUDED.name`;

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
  // Another writer may create one of them meanwhile: then the update is what takes its lock.
  const created = sessions.filter((session) => !known.has(session.id));
  await sql.execute(CREATE, ...SESSION_COLUMNS.parameters(created), receivedAt);
}

const SUM = `
UPDATE sessions s SET first_at = LEAST(s.first_at, to_timestamp(r.first_ms / 1000)),
  last_at = GREATEST(s.last_at, to_timestamp(r.last_ms / 1000)),
  last_received_at = GREATEST(s.last_received_at, to_timestamp(${RECEIVED} / 1000)),
  first_slot = LEAST(s.first_slot, floor(r.first_ms / ${SLOT_MS})::int4),
  last_slot = GREATEST(s.last_slot, floor(r.last_ms / ${SLOT_MS})::int4),
  open_slot = CASE WHEN s.ended_at >= GREATEST(s.last_at, to_timestamp(r.last_ms / 1000)) THEN -1
    ELSE floor(GREATEST(extract(epoch FROM s.last_received_at) * 1000, ${RECEIVED}) / ${SLOT_MS})::int4 END,
  peak_bin = LEAST(COALESCE(floor(a.peak_utilization / ${BIN_WIDTH}), -1), 32767)::int2,
  model = m.model, current_tokens = m.current_tokens, current_window = m.current_window, load = m.load,
  peak_tokens = a.peak_tokens, peak_utilization = a.peak_utilization, turns = a.turns, agents = a.agents,
  windows = a.windows, masked = a.masked, compacted = a.compacted, subticks = a.subticks, restarts = a.restarts,
  cleared = a.cleared, unexplained = a.unexplained, reclaimed = a.reclaimed, warnings = a.warnings,
  warned = a.warnings > 0
FROM (${SESSION_COLUMNS.select}) r
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
  ORDER BY m.name = 'main' DESC, m.parent IS NULL DESC, m.first_at, m.id LIMIT 1
) m
WHERE s.project_id = r.project_id AND s.id = r.id`;

/** A session's figures are the sums and maxima of its agents', taken anew whenever one of them moved. */
export async function sumSessions(
  sql: Sql,
  sessions: readonly BatchSession[],
  receivedAt: number,
): Promise<void> {
  if (sessions.length === 0) return;
  await sql.execute(SUM, ...SESSION_COLUMNS.parameters(sessions), receivedAt);
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
