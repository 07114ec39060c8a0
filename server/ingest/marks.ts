import type {
  BoundaryReading,
  Crossing,
  InferredBoundary,
  MarkEvent,
  MarkFacts,
  WindowSummary,
} from "@plimsoll/protocol";
import type { Sql, WriterSql } from "../db/sql.ts";
import { BOUNDARY_ORIGIN, crossingOriginCode } from "./codes.ts";
import { arrayLiteral, Columns } from "./columns.ts";
import { violatesKey } from "./violations.ts";

interface AgentKey {
  projectId: number;
  id: string;
}

/** A row of `boundaries`, reported or inferred. */
export interface BoundaryRow {
  agent: AgentKey;
  sessionId: string | undefined;
  origin: number;
  reading: BoundaryReading;
  sentWindow: number | undefined;
  detail: Record<string, unknown>;
}

const ENVELOPE = new Set(["id", "type", "at", "harness", "session", "agent", "parent_agent", "window"]);

export function reportedRow(
  agent: AgentKey,
  sessionId: string | undefined,
  event: MarkEvent,
  reading: BoundaryReading,
): BoundaryRow {
  const detail = Object.fromEntries(Object.entries(event).filter(([field]) => !ENVELOPE.has(field)));
  return { agent, sessionId, origin: BOUNDARY_ORIGIN.reported, reading, sentWindow: event.window, detail };
}

export function inferredRow(
  agent: AgentKey,
  sessionId: string | undefined,
  inferred: InferredBoundary,
): BoundaryRow {
  const { hint } = inferred;
  return {
    agent,
    sessionId,
    origin: BOUNDARY_ORIGIN.inferred,
    reading: inferred,
    sentWindow: undefined,
    detail: hint === undefined ? {} : { hint },
  };
}

/** What names a row that belongs to an agent. */
interface RowKey {
  agent: AgentKey;
  id: string;
}

const KEY_COLUMNS = new Columns<RowKey>([
  ["project_id", "int4", (row) => row.agent.projectId],
  ["agent_id", "uuid", (row) => row.agent.id],
  ["id", "text", (row) => row.id],
]);

const KNOWN = `
SELECT b.agent_id, b.id FROM boundaries b JOIN (${KEY_COLUMNS.select}) r USING (project_id, agent_id, id)`;

/** Which of these marks are stored already, as `agent/id`. */
export async function knownMarks(sql: Sql, marks: readonly RowKey[]): Promise<Set<string>> {
  if (marks.length === 0) return new Set();
  const known = await sql.query<{ agent_id: string; id: string }>(KNOWN, ...KEY_COLUMNS.parameters(marks));
  return new Set(known.map((row) => `${row.agent_id}/${row.id}`));
}

const BOUNDARY_COLUMNS = new Columns<BoundaryRow>([
  ["project_id", "int4", (row) => row.agent.projectId],
  ["agent_id", "uuid", (row) => row.agent.id],
  ["id", "text", (row) => row.reading.id],
  ["session_id", "uuid", (row) => row.sessionId],
  ["type", "text", (row) => row.reading.type],
  ["origin", "int2", (row) => row.origin],
  ["at_ms", "float8", (row) => row.reading.at],
  ["window_index", "int4", (row) => row.reading.window],
  ["sent_window", "int4", (row) => row.sentWindow],
  ["tokens_before", "int4", (row) => row.reading.tokensBefore],
  ["tokens_after", "int4", (row) => row.reading.tokensAfter],
  ["detail", "text", (row) => JSON.stringify(row.detail)],
]);

const INSERT_BOUNDARIES = `
INSERT INTO boundaries (project_id, agent_id, id, session_id, type, origin, at, received_at, window_index, sent_window,
  tokens_before, tokens_after, detail)
SELECT project_id, agent_id, id, session_id, type, origin, to_timestamp(at_ms / 1000),
  to_timestamp($${BOUNDARY_COLUMNS.count + 1}::float8 / 1000), window_index, sent_window, tokens_before, tokens_after,
  detail::jsonb
FROM (${BOUNDARY_COLUMNS.select}) r`;

const UPSERT_BOUNDARIES = `${INSERT_BOUNDARIES}
ON CONFLICT (project_id, agent_id, id) DO UPDATE SET type = EXCLUDED.type, at = EXCLUDED.at,
  window_index = EXCLUDED.window_index, tokens_before = EXCLUDED.tokens_before, tokens_after = EXCLUDED.tokens_after,
  detail = EXCLUDED.detail`;

/** Fails the transaction when one of them is stored already: see `isMarkRepeated`. */
export function writeReported(sql: WriterSql, rows: readonly BoundaryRow[], receivedAt: number): void {
  if (rows.length > 0) sql.send(INSERT_BOUNDARIES, ...BOUNDARY_COLUMNS.parameters(rows), receivedAt);
}

/** Whether a transaction failed because a mark that `writeReported` was given is stored already. */
export function isMarkRepeated(error: unknown): boolean {
  return violatesKey(error, "boundaries_pkey");
}

export function writeInferred(sql: WriterSql, rows: readonly BoundaryRow[], receivedAt: number): void {
  if (rows.length > 0) sql.send(UPSERT_BOUNDARIES, ...BOUNDARY_COLUMNS.parameters(rows), receivedAt);
}

interface SettledRow {
  agent: AgentKey;
  reading: BoundaryReading;
}

const SETTLED_COLUMNS = new Columns<SettledRow>([
  ["project_id", "int4", (row) => row.agent.projectId],
  ["agent_id", "uuid", (row) => row.agent.id],
  ["id", "text", (row) => row.reading.id],
  ["window_index", "int4", (row) => row.reading.window],
  ["tokens_before", "int4", (row) => row.reading.tokensBefore],
  ["tokens_after", "int4", (row) => row.reading.tokensAfter],
]);

const SETTLE = `
UPDATE boundaries b SET window_index = r.window_index, tokens_before = r.tokens_before, tokens_after = r.tokens_after
FROM (${SETTLED_COLUMNS.select}) r
WHERE b.project_id = r.project_id AND b.agent_id = r.agent_id AND b.id = r.id`;

/** Boundaries stored earlier whose level the turns have settled since. */
export function settleBoundaries(sql: WriterSql, rows: readonly SettledRow[]): void {
  if (rows.length > 0) sql.send(SETTLE, ...SETTLED_COLUMNS.parameters(rows));
}

export function deleteBoundaries(sql: WriterSql, rows: readonly RowKey[]): void {
  deleteRows(sql, "boundaries", rows);
}

export interface StoredMark {
  facts: MarkFacts;
  reading: BoundaryReading;
  origin: number;
  hint: string | undefined;
}

/** Every stored mark of one agent, as reported and as read. */
export async function readAgentMarks(sql: Sql, agent: AgentKey): Promise<StoredMark[]> {
  const rows = await sql.query<{
    id: string;
    type: string;
    origin: number;
    at: Date;
    window_index: number;
    sent_window: number | null;
    tokens_before: number | null;
    tokens_after: number | null;
    detail: Record<string, unknown>;
  }>(
    `SELECT id, type, origin, at, window_index, sent_window, tokens_before, tokens_after, detail FROM boundaries
     WHERE project_id = $1 AND agent_id = $2::uuid`,
    agent.projectId,
    agent.id,
  );
  return rows.map((row) => ({
    origin: row.origin,
    hint: row.detail.hint as string | undefined,
    reading: {
      id: row.id,
      type: row.type,
      at: row.at.getTime(),
      window: row.window_index,
      tokensBefore: row.tokens_before ?? undefined,
      tokensAfter: row.tokens_after ?? undefined,
    },
    facts: {
      id: row.id,
      at: row.at.getTime(),
      type: row.type as MarkFacts["type"],
      sentWindow: row.sent_window ?? undefined,
      tokensBefore: row.detail.tokens_before as number | undefined,
      tokensAfter: row.detail.tokens_after as number | undefined,
      crossing:
        row.type === "threshold_crossed"
          ? {
              threshold: row.detail.threshold as string,
              up: row.detail.direction === "up",
              thresholdTokens: row.detail.threshold_tokens as number,
              contextTokens: row.detail.context_tokens as number,
            }
          : undefined,
    },
  }));
}

export interface CrossingRow {
  agent: AgentKey;
  sessionId: string;
  crossing: Crossing;
}

const CROSSING_COLUMNS = new Columns<CrossingRow>([
  ["project_id", "int4", (row) => row.agent.projectId],
  ["agent_id", "uuid", (row) => row.agent.id],
  ["id", "text", (row) => row.crossing.id],
  ["session_id", "uuid", (row) => row.sessionId],
  ["threshold", "text", (row) => row.crossing.threshold],
  ["up", "int2", (row) => (row.crossing.up ? 1 : 0)],
  ["origin", "int2", (row) => crossingOriginCode(row.crossing.origin)],
  ["at_ms", "float8", (row) => row.crossing.at],
  ["turn_key", "int8", (row) => row.crossing.turnKey],
  ["threshold_tokens", "int4", (row) => row.crossing.thresholdTokens],
  ["context_tokens", "int4", (row) => row.crossing.contextTokens],
  ["window_tokens", "int4", (row) => row.crossing.windowTokens],
]);

const UPSERT_CROSSINGS = `
INSERT INTO crossings (project_id, agent_id, id, session_id, threshold, up, origin, at, turn_key, threshold_tokens,
  context_tokens, window_tokens)
SELECT project_id, agent_id, id, session_id, threshold, up = 1, origin, to_timestamp(at_ms / 1000), turn_key,
  threshold_tokens, context_tokens, window_tokens
FROM (${CROSSING_COLUMNS.select}) r
ON CONFLICT (project_id, agent_id, id) DO UPDATE SET origin = EXCLUDED.origin, at = EXCLUDED.at,
  threshold_tokens = EXCLUDED.threshold_tokens, context_tokens = EXCLUDED.context_tokens,
  window_tokens = EXCLUDED.window_tokens`;

export function writeCrossings(sql: WriterSql, rows: readonly CrossingRow[]): void {
  if (rows.length > 0) sql.send(UPSERT_CROSSINGS, ...CROSSING_COLUMNS.parameters(rows));
}

export async function readAgentCrossings(
  sql: Sql,
  agent: AgentKey,
): Promise<{ id: string; threshold: string; up: boolean }[]> {
  return sql.query(
    "SELECT id, threshold, up FROM crossings WHERE project_id = $1 AND agent_id = $2::uuid",
    agent.projectId,
    agent.id,
  );
}

export function deleteCrossings(sql: WriterSql, rows: readonly RowKey[]): void {
  deleteRows(sql, "crossings", rows);
}

function deleteRows(sql: WriterSql, table: "boundaries" | "crossings", rows: readonly RowKey[]): void {
  if (rows.length === 0) return;
  sql.send(
    `DELETE FROM ${table} b USING (${KEY_COLUMNS.select}) r
     WHERE b.project_id = r.project_id AND b.agent_id = r.agent_id AND b.id = r.id`,
    ...KEY_COLUMNS.parameters(rows),
  );
}

const WINDOW_COLUMNS = new Columns<{ agent: AgentKey; window: WindowSummary }>([
  ["project_id", "int4", (row) => row.agent.projectId],
  ["agent_id", "uuid", (row) => row.agent.id],
  ["index", "int4", (row) => row.window.index],
  ["first_ms", "float8", (row) => row.window.firstAt],
  ["last_ms", "float8", (row) => row.window.lastAt],
  ["turns", "int4", (row) => row.window.turns],
  ["first_tokens", "int4", (row) => row.window.firstTokens],
  ["last_tokens", "int4", (row) => row.window.lastTokens],
  ["peak_tokens", "int4", (row) => row.window.peakTokens],
  ["peak_utilization", "float4", (row) => row.window.peakUtilization],
  ["window_tokens", "int4", (row) => row.window.windowTokens],
]);

const UPSERT_WINDOWS = `
INSERT INTO windows (project_id, agent_id, index, first_at, last_at, turns, first_tokens, last_tokens, peak_tokens,
  peak_utilization, window_tokens)
SELECT project_id, agent_id, index, to_timestamp(first_ms / 1000), to_timestamp(last_ms / 1000), turns, first_tokens,
  last_tokens, peak_tokens, peak_utilization, window_tokens
FROM (${WINDOW_COLUMNS.select}) r
ON CONFLICT (project_id, agent_id, index) DO UPDATE SET first_at = EXCLUDED.first_at, last_at = EXCLUDED.last_at,
  turns = EXCLUDED.turns, first_tokens = EXCLUDED.first_tokens, last_tokens = EXCLUDED.last_tokens,
  peak_tokens = EXCLUDED.peak_tokens, peak_utilization = EXCLUDED.peak_utilization,
  window_tokens = EXCLUDED.window_tokens`;

/** Of windows that are over. */
export function writeWindows(
  sql: WriterSql,
  rows: readonly { agent: AgentKey; window: WindowSummary }[],
): void {
  if (rows.length > 0) sql.send(UPSERT_WINDOWS, ...WINDOW_COLUMNS.parameters(rows));
}

/** Windows of re-read agents that no longer hold a turn, or are open again. */
export function deleteOtherWindows(sql: WriterSql, agent: AgentKey, kept: readonly number[]): void {
  sql.send(
    "DELETE FROM windows WHERE project_id = $1 AND agent_id = $2::uuid AND NOT (index = ANY($3::int4[]))",
    agent.projectId,
    agent.id,
    arrayLiteral(kept),
  );
}
