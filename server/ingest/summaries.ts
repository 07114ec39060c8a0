import { BIN_WIDTH } from "@plimsoll/protocol";
import type { Sql } from "../db/sql.ts";
import type { BatchHarness, BatchSession, SessionStatement } from "./batch.ts";
import { describeSession } from "./batch.ts";
import { arrayLiteral, Columns } from "./columns.ts";
import { ALL, type BoundaryRow, type RollupChanges, type RollupRow } from "./rollup.ts";
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
 * locked last of all, so this lock is one that nothing else takes. Before the sessions', in one order everywhere.
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

const HARNESS_COLUMNS = new Columns<BatchHarness>([
  ["project_id", "int4", (harness) => harness.projectId],
  ["id", "uuid", (harness) => harness.id],
  ["instance", "text", (harness) => harness.instance],
  ["first_ms", "float8", (harness) => harness.firstAt],
  ["last_ms", "float8", (harness) => harness.lastAt],
]);

const UPSERT_HARNESSES = `
INSERT INTO harnesses AS h (project_id, id, instance, capabilities, status, first_at, last_at, last_received_at)
SELECT project_id, id, instance, '{}', 'unknown', to_timestamp(first_ms / 1000), to_timestamp(last_ms / 1000),
  to_timestamp($${HARNESS_COLUMNS.count + 1}::float8 / 1000)
FROM (${HARNESS_COLUMNS.select}) r ORDER BY project_id, id
ON CONFLICT (project_id, id) DO UPDATE SET first_at = LEAST(h.first_at, EXCLUDED.first_at),
  last_at = GREATEST(h.last_at, EXCLUDED.last_at),
  last_received_at = GREATEST(h.last_received_at, EXCLUDED.last_received_at)`;

export async function writeHarnesses(
  sql: Sql,
  harnesses: readonly BatchHarness[],
  receivedAt: number,
): Promise<void> {
  if (harnesses.length === 0) return;
  await sql.execute(UPSERT_HARNESSES, ...HARNESS_COLUMNS.parameters(harnesses), receivedAt);
  for (const harness of harnesses) {
    if (!harness.described) continue;
    // The newest word wins, whatever order the words came in.
    await sql.execute(
      `UPDATE harnesses h SET status = b.detail->>'status', status_at = b.at,
         name = hello.detail->>'name', version = hello.detail->>'version',
         capabilities = COALESCE(ARRAY(SELECT jsonb_array_elements_text(hello.detail->'capabilities')), '{}')
       FROM (SELECT detail, at FROM boundaries WHERE project_id = $1 AND agent_id = $2::uuid AND type = 'harness'
             ORDER BY at DESC, id DESC LIMIT 1) b,
            (SELECT detail FROM boundaries WHERE project_id = $1 AND agent_id = $2::uuid AND type = 'harness'
             ORDER BY (detail->>'status' = 'hello') DESC, at DESC, id DESC LIMIT 1) hello
       WHERE h.project_id = $1 AND h.id = $2::uuid`,
      harness.projectId,
      harness.id,
    );
  }
}

const ROLLUP_COLUMNS = new Columns<RollupRow>([
  ["project_id", "int4", (row) => row.projectId],
  ["grain", "int2", (row) => row.grain],
  ["bucket_ms", "float8", (row) => row.bucket],
  ["harness", "text", (row) => row.harness],
  ["model", "text", (row) => row.model],
  ["turns", "int4", (row) => row.turns],
  ["missing", "int4", (row) => row.missing],
  ["fresh", "int8", (row) => row.fresh],
  ["cache_read", "int8", (row) => row.cacheRead],
  ["cache_write", "int8", (row) => row.cacheWrite],
  ["output", "int8", (row) => row.output],
  ["cost_micros", "int8", (row) => row.costMicros],
  ["peak_tokens", "int4", (row) => row.peakTokens],
  ["peak_utilization", "float4", (row) => row.peakUtilization],
  ["bins", "text", (row) => arrayLiteral(row.bins)],
]);

const UPSERT_ROLLUPS = `
INSERT INTO rollups AS r (project_id, grain, bucket, harness, model, turns, missing, fresh, cache_read, cache_write,
  output, cost_micros, peak_tokens, peak_utilization, bins)
SELECT project_id, grain, to_timestamp(bucket_ms / 1000), harness, model, turns, missing, fresh, cache_read,
  cache_write, output, cost_micros, peak_tokens, peak_utilization, bins::int4[]
FROM (${ROLLUP_COLUMNS.select}) i ORDER BY project_id, grain, harness, bucket_ms, model
ON CONFLICT (project_id, grain, harness, bucket, model) DO UPDATE SET turns = r.turns + EXCLUDED.turns,
  missing = r.missing + EXCLUDED.missing, fresh = r.fresh + EXCLUDED.fresh,
  cache_read = r.cache_read + EXCLUDED.cache_read, cache_write = r.cache_write + EXCLUDED.cache_write,
  output = r.output + EXCLUDED.output, cost_micros = r.cost_micros + EXCLUDED.cost_micros,
  peak_tokens = GREATEST(r.peak_tokens, EXCLUDED.peak_tokens),
  peak_utilization = GREATEST(r.peak_utilization, EXCLUDED.peak_utilization),
  bins = ARRAY(SELECT COALESCE(u.a, 0) + COALESCE(u.b, 0)
    FROM unnest(r.bins, EXCLUDED.bins) WITH ORDINALITY AS u(a, b, n) ORDER BY u.n)`;

const BOUNDARY_ROLLUP_COLUMNS = new Columns<BoundaryRow>([
  ["project_id", "int4", (row) => row.projectId],
  ["grain", "int2", (row) => row.grain],
  ["bucket_ms", "float8", (row) => row.bucket],
  ["harness", "text", (row) => row.harness],
  ["type", "text", (row) => row.type],
  ["count", "int4", (row) => row.count],
  ["reclaimed", "int8", (row) => row.reclaimed],
]);

const UPSERT_BOUNDARY_ROLLUPS = `
INSERT INTO boundary_rollups AS r (project_id, grain, bucket, harness, type, count, reclaimed)
SELECT project_id, grain, to_timestamp(bucket_ms / 1000), harness, type, count, reclaimed
FROM (${BOUNDARY_ROLLUP_COLUMNS.select}) i ORDER BY project_id, grain, harness, bucket_ms, type
ON CONFLICT (project_id, grain, harness, bucket, type) DO UPDATE SET count = r.count + EXCLUDED.count,
  reclaimed = r.reclaimed + EXCLUDED.reclaimed`;

export async function writeRollups(
  sql: Sql,
  changes: RollupChanges,
  modelNumber: (projectId: number, model: string) => number,
): Promise<void> {
  // Both are given before either is awaited, so that all writers take these rows' locks in the same order.
  const statements: Promise<number>[] = [];
  const turns = [...changes.turns.values()];
  if (turns.length > 0) statements.push(sql.execute(UPSERT_ROLLUPS, ...ROLLUP_COLUMNS.parameters(turns)));
  const boundaries = [...changes.boundaries.values()];
  if (boundaries.length > 0) {
    statements.push(sql.execute(UPSERT_BOUNDARY_ROLLUPS, ...BOUNDARY_ROLLUP_COLUMNS.parameters(boundaries)));
  }
  await Promise.all(statements);
  const lowered = turns.filter((row) => row.repeak);
  for (const row of lowered) {
    if (row.harness !== ALL) await readPeakAgain(sql, row, modelNumber(row.projectId, row.model));
  }
  for (const row of lowered) if (row.harness === ALL) await readPeakOfAllAgain(sql, row);
}

/** A maximum cannot be subtracted from: read it from the turns of the agents that were active in the bucket. */
async function readPeakAgain(sql: Sql, row: RollupRow, modelId: number): Promise<void> {
  const end = row.bucket + row.grain * 60_000;
  await sql.execute(
    `UPDATE rollups r SET peak_tokens = p.tokens, peak_utilization = p.utilization
     FROM (
       SELECT max(t.context_tokens) AS tokens, max(t.context_tokens::float8 / t.window_tokens)::float4 AS utilization
       FROM sessions s
       JOIN agents a ON a.project_id = s.project_id AND a.session_id = s.id
       JOIN turns t ON t.project_id = a.project_id AND t.agent_id = a.id
       WHERE s.project_id = $1 AND s.harness = $2 AND a.first_at < to_timestamp($4::float8 / 1000)
         AND a.last_at >= to_timestamp($3::float8 / 1000) AND t.at >= to_timestamp($3::float8 / 1000)
         AND t.at < to_timestamp($4::float8 / 1000) AND t.model_id = $5 AND t.purpose = 0
     ) p
     WHERE r.project_id = $1 AND r.grain = $6 AND r.bucket = to_timestamp($3::float8 / 1000) AND r.harness = $2
       AND r.model = $7`,
    row.projectId,
    row.harness,
    row.bucket,
    end,
    modelId,
    row.grain,
    row.model,
  );
}

/** The highest of the rows it sums up, each of which is right by now. */
async function readPeakOfAllAgain(sql: Sql, row: RollupRow): Promise<void> {
  await sql.execute(
    `UPDATE rollups r SET peak_tokens = p.tokens, peak_utilization = p.utilization
     FROM (
       SELECT max(peak_tokens) AS tokens, max(peak_utilization) AS utilization FROM rollups
       WHERE project_id = $1 AND grain = $2 AND bucket = to_timestamp($3::float8 / 1000) AND harness <> '${ALL}'
     ) p
     WHERE r.project_id = $1 AND r.grain = $2 AND r.bucket = to_timestamp($3::float8 / 1000) AND r.harness = '${ALL}'`,
    row.projectId,
    row.grain,
    row.bucket,
  );
}

interface Count {
  projectId: number;
  outcome: string;
  count: number;
}

const COUNT_COLUMNS = new Columns<Count>([
  ["project_id", "int4", (row) => row.projectId],
  ["outcome", "text", (row) => row.outcome],
  ["count", "int8", (row) => row.count],
]);

const ADD_COUNTS = `
INSERT INTO ingest_counts AS c (project_id, day, outcome, count)
SELECT project_id, $${COUNT_COLUMNS.count + 1}::date, outcome, count FROM (${COUNT_COLUMNS.select}) r
ORDER BY project_id, outcome
ON CONFLICT (project_id, day, outcome) DO UPDATE SET count = c.count + EXCLUDED.count`;

/** Adds to what ingestion did, by project, day and outcome. */
export async function writeCounts(sql: Sql, counts: ReadonlyMap<string, Count>, now: number): Promise<void> {
  if (counts.size === 0) return;
  const day = new Date(now).toISOString().slice(0, 10);
  await sql.execute(ADD_COUNTS, ...COUNT_COLUMNS.parameters([...counts.values()]), day);
}
