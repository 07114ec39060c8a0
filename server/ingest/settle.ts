import type { WriterSql } from "../db/sql.ts";
import { arrayLiteral, Columns } from "./columns.ts";
import { type DayCount, type PendingRow, PendingSum, type SeenHarness } from "./pending.ts";
import { ALL, type BoundaryRow, inEveryGrain, type RollupRow } from "./rollup.ts";
import { describeSessions, sumSessions } from "./sessions.ts";
import { SLOT_MS } from "./slots.ts";

/** One at a time, in whatever process: who waits for it finds settled what the one before took. */
export const SETTLE_LOCK = 0x504c544f;

/** Pending rows one transaction settles. Each may be as large as a group of some thousand events makes it. */
export const ROUND = 200;

/**
 * Oldest first within a project, so that a level is never taken away before it was added: whoever takes it away has
 * read it, so it was committed, under a lower id.
 */
const TAKE = `
DELETE FROM pending_totals p
USING (SELECT project_id, id FROM pending_totals ORDER BY project_id, id LIMIT ${ROUND}) o
WHERE p.project_id = o.project_id AND p.id = o.id RETURNING p.project_id, p.delta`;

/**
 * Moves pending rows into the totals, within a transaction of its own.
 * @returns whether it may have left some that were there when it began
 */
export async function settleRound(sql: WriterSql): Promise<boolean> {
  const [, rows] = await Promise.all([
    sql.query(`SELECT pg_advisory_xact_lock(${SETTLE_LOCK})`),
    // Begun after the lock was got, so it sees what others settled meanwhile.
    sql.query<PendingRow>(TAKE),
  ]);
  if (rows.length > 0) await writeTotals(sql, new PendingSum(rows));
  return rows.length === ROUND;
}

async function writeTotals(
  sql: WriterSql,
  { sessions, rollups, harnesses, counts }: PendingSum,
): Promise<void> {
  const { turns, boundaries } = inEveryGrain(rollups);
  // First: peaks that are read again are looked for in the sessions that were active then.
  sumSessions(sql, [...sessions.values()]);
  writeHarnesses(sql, [...harnesses.values()]);
  writeTurns(sql, turns);
  writeBoundaries(sql, boundaries);
  writeCounts(sql, [...counts.values()]);
  await describeSessions(
    sql,
    [...sessions.values()].filter((session) => session.described),
  );
}

const HARNESS_COLUMNS = new Columns<SeenHarness>([
  ["project_id", "int4", (harness) => harness.projectId],
  ["id", "uuid", (harness) => harness.id],
  ["instance", "text", (harness) => harness.instance],
  ["first_ms", "float8", (harness) => harness.firstAt],
  ["last_ms", "float8", (harness) => harness.lastAt],
  ["received_ms", "float8", (harness) => harness.receivedAt],
]);

const UPSERT_HARNESSES = `
INSERT INTO harnesses AS h (project_id, id, instance, capabilities, status, first_at, last_at, last_received_at)
SELECT project_id, id, instance, '{}', 'unknown', to_timestamp(first_ms / 1000), to_timestamp(last_ms / 1000),
  to_timestamp(received_ms / 1000)
FROM (${HARNESS_COLUMNS.select}) r ORDER BY project_id, id
ON CONFLICT (project_id, id) DO UPDATE SET first_at = LEAST(h.first_at, EXCLUDED.first_at),
  last_at = GREATEST(h.last_at, EXCLUDED.last_at),
  last_received_at = GREATEST(h.last_received_at, EXCLUDED.last_received_at)`;

/** The newest word wins, whatever order the words came in. */
const DESCRIBE_HARNESS = `
UPDATE harnesses h SET status = b.detail->>'status', status_at = b.at,
  name = hello.detail->>'name', version = hello.detail->>'version',
  capabilities = COALESCE(ARRAY(SELECT jsonb_array_elements_text(hello.detail->'capabilities')), '{}')
FROM (SELECT detail, at FROM boundaries WHERE project_id = $1 AND agent_id = $2::uuid AND type = 'harness'
      ORDER BY at DESC, id DESC LIMIT 1) b,
     (SELECT detail FROM boundaries WHERE project_id = $1 AND agent_id = $2::uuid AND type = 'harness'
      ORDER BY (detail->>'status' = 'hello') DESC, at DESC, id DESC LIMIT 1) hello
WHERE h.project_id = $1 AND h.id = $2::uuid`;

function writeHarnesses(sql: WriterSql, harnesses: readonly SeenHarness[]): void {
  if (harnesses.length === 0) return;
  sql.send(UPSERT_HARNESSES, ...HARNESS_COLUMNS.parameters(harnesses));
  for (const { described, projectId, id } of harnesses) {
    if (described) sql.send(DESCRIBE_HARNESS, projectId, id);
  }
}

const TURN_COLUMNS = new Columns<RollupRow>([
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

const UPSERT_TURNS = `
INSERT INTO rollups AS r (project_id, grain, bucket, harness, model, turns, missing, fresh, cache_read, cache_write,
  output, cost_micros, peak_tokens, peak_utilization, bins)
SELECT project_id, grain, to_timestamp(bucket_ms / 1000), harness, model, turns, missing, fresh, cache_read,
  cache_write, output, cost_micros, peak_tokens, peak_utilization, bins::int4[]
FROM (${TURN_COLUMNS.select}) i ORDER BY project_id, grain, harness, bucket_ms, model
ON CONFLICT (project_id, grain, harness, bucket, model) DO UPDATE SET turns = r.turns + EXCLUDED.turns,
  missing = r.missing + EXCLUDED.missing, fresh = r.fresh + EXCLUDED.fresh,
  cache_read = r.cache_read + EXCLUDED.cache_read, cache_write = r.cache_write + EXCLUDED.cache_write,
  output = r.output + EXCLUDED.output, cost_micros = r.cost_micros + EXCLUDED.cost_micros,
  peak_tokens = GREATEST(r.peak_tokens, EXCLUDED.peak_tokens),
  peak_utilization = GREATEST(r.peak_utilization, EXCLUDED.peak_utilization),
  bins = ARRAY(SELECT COALESCE(u.a, 0) + COALESCE(u.b, 0)
    FROM unnest(r.bins, EXCLUDED.bins) WITH ORDINALITY AS u(a, b, n) ORDER BY u.n)`;

function writeTurns(sql: WriterSql, rows: readonly RollupRow[]): void {
  if (rows.length === 0) return;
  const lowered = rows.filter((row) => row.repeak);
  const minutes = lowered.filter(({ grain }) => grain === 1);
  sql.send(UPSERT_TURNS, ...TURN_COLUMNS.parameters(rows));
  // Each reads what the one before it has put right.
  readPeaks(
    sql,
    PEAKS_OF_TURNS,
    minutes.filter(({ harness }) => harness !== ALL),
  );
  readPeaks(
    sql,
    PEAKS_OF_HARNESSES,
    minutes.filter(({ harness }) => harness === ALL),
  );
  readPeaks(
    sql,
    PEAKS_OF_MINUTES,
    lowered.filter(({ grain }) => grain > 1),
  );
}

const KEY_COLUMNS = new Columns<RollupRow>([
  ["project_id", "int4", (row) => row.projectId],
  ["grain", "int2", (row) => row.grain],
  ["bucket_ms", "float8", (row) => row.bucket],
  ["end_ms", "float8", (row) => row.bucket + row.grain * 60_000],
  ["harness", "text", (row) => row.harness],
  ["model", "text", (row) => row.model],
]);

const readPeaksFrom = (peaks: string): string => `
UPDATE rollups r SET peak_tokens = p.tokens, peak_utilization = p.utilization
FROM (SELECT *, to_timestamp(bucket_ms / 1000) AS begins, to_timestamp(end_ms / 1000) AS ends
      FROM (${KEY_COLUMNS.select}) k) i
CROSS JOIN LATERAL (${peaks}) p
WHERE r.project_id = i.project_id AND r.grain = i.grain AND r.bucket = i.begins AND r.harness = i.harness
  AND r.model = i.model`;

/** A maximum cannot be subtracted from: read it from the turns of the agents that were active in the minute. */
const PEAKS_OF_TURNS = readPeaksFrom(`
  SELECT max(t.context_tokens) AS tokens, max(t.context_tokens::float8 / t.window_tokens)::float4 AS utilization
  FROM sessions s
  JOIN agents a ON a.project_id = s.project_id AND a.session_id = s.id
  JOIN turns t ON t.project_id = a.project_id AND t.agent_id = a.id
  JOIN models m ON m.project_id = t.project_id AND m.id = t.model_id
  WHERE s.project_id = i.project_id AND s.harness = i.harness AND s.last_slot >= floor(i.bucket_ms / ${SLOT_MS})
    AND s.first_slot <= floor(i.end_ms / ${SLOT_MS}) AND a.first_at < i.ends AND a.last_at >= i.begins
    AND t.at >= i.begins AND t.at < i.ends AND m.name = i.model AND t.purpose = 0`);

/** Of all harnesses: the highest of theirs. Asked for one by one, each is found by its key. */
const PEAKS_OF_HARNESSES = readPeaksFrom(`
  SELECT max(o.peak_tokens) AS tokens, max(o.peak_utilization) AS utilization
  FROM harnesses h
  JOIN rollups o ON o.project_id = h.project_id AND o.grain = 1 AND o.harness = h.instance AND o.bucket = i.begins
  WHERE h.project_id = i.project_id`);

/**
 * Of a longer bucket: the highest of its minutes. Not of the turns: some may have been committed since the minutes were
 * read, and would be in the one and not in the other until they are settled themselves.
 */
const PEAKS_OF_MINUTES = readPeaksFrom(`
  SELECT max(o.peak_tokens) AS tokens, max(o.peak_utilization) AS utilization FROM rollups o
  WHERE o.project_id = i.project_id AND o.grain = 1 AND o.harness = i.harness AND o.bucket >= i.begins
    AND o.bucket < i.ends AND o.model = i.model`);

function readPeaks(sql: WriterSql, statement: string, rows: readonly RollupRow[]): void {
  if (rows.length > 0) sql.send(statement, ...KEY_COLUMNS.parameters(rows));
}

const BOUNDARY_COLUMNS = new Columns<BoundaryRow>([
  ["project_id", "int4", (row) => row.projectId],
  ["grain", "int2", (row) => row.grain],
  ["bucket_ms", "float8", (row) => row.bucket],
  ["harness", "text", (row) => row.harness],
  ["type", "text", (row) => row.type],
  ["count", "int4", (row) => row.count],
  ["reclaimed", "int8", (row) => row.reclaimed],
]);

const UPSERT_BOUNDARIES = `
INSERT INTO boundary_rollups AS r (project_id, grain, bucket, harness, type, count, reclaimed)
SELECT project_id, grain, to_timestamp(bucket_ms / 1000), harness, type, count, reclaimed
FROM (${BOUNDARY_COLUMNS.select}) i ORDER BY project_id, grain, harness, bucket_ms, type
ON CONFLICT (project_id, grain, harness, bucket, type) DO UPDATE SET count = r.count + EXCLUDED.count,
  reclaimed = r.reclaimed + EXCLUDED.reclaimed`;

function writeBoundaries(sql: WriterSql, rows: readonly BoundaryRow[]): void {
  if (rows.length > 0) sql.send(UPSERT_BOUNDARIES, ...BOUNDARY_COLUMNS.parameters(rows));
}

const COUNT_COLUMNS = new Columns<DayCount>([
  ["project_id", "int4", (row) => row.projectId],
  ["day", "text", (row) => row.day],
  ["outcome", "text", (row) => row.outcome],
  ["count", "int8", (row) => row.count],
]);

const ADD_COUNTS = `
INSERT INTO ingest_counts AS c (project_id, day, outcome, count)
SELECT project_id, day::date, outcome, count FROM (${COUNT_COLUMNS.select}) r ORDER BY project_id, day, outcome
ON CONFLICT (project_id, day, outcome) DO UPDATE SET count = c.count + EXCLUDED.count`;

function writeCounts(sql: WriterSql, counts: readonly DayCount[]): void {
  if (counts.length > 0) sql.send(ADD_COUNTS, ...COUNT_COLUMNS.parameters(counts));
}
