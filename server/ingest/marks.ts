import type {
  BoundaryReading,
  Crossing,
  InferredBoundary,
  MarkEvent,
  MarkFacts,
  WindowSummary,
} from "@plimsoll/protocol";
import type { Sql } from "../db/sql.ts";
import { BOUNDARY_ORIGIN, crossingOriginCode } from "./codes.ts";
import { arrayLiteral, Columns } from "./columns.ts";

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

/** Which of these marks are stored already, as `agent/id`. */
export async function knownMarks(
  sql: Sql,
  marks: readonly { agent: AgentKey; id: string }[],
): Promise<Set<string>> {
  if (marks.length === 0) return new Set();
  const known = await sql.query<{ agent_id: string; id: string }>(
    `SELECT b.agent_id, b.id FROM boundaries b
     JOIN jsonb_to_recordset($1::jsonb) AS r(p int4, a uuid, i text)
       ON b.project_id = r.p AND b.agent_id = r.a AND b.id = r.i`,
    JSON.stringify(marks.map(({ agent, id }) => ({ p: agent.projectId, a: agent.id, i: id }))),
  );
  return new Set(known.map((row) => `${row.agent_id}/${row.id}`));
}

const UPSERT_BOUNDARIES = `
INSERT INTO boundaries (project_id, agent_id, id, session_id, type, origin, at, received_at, window_index, sent_window,
  tokens_before, tokens_after, detail)
SELECT project_id, agent_id, id, session_id, type, origin, to_timestamp(at / 1000), to_timestamp($2::float8 / 1000),
  window_index, sent_window, tokens_before, tokens_after, detail
FROM jsonb_to_recordset($1::jsonb) AS r(project_id int4, agent_id uuid, id text, session_id uuid, type text,
  origin int2, at float8, window_index int4, sent_window int4, tokens_before int4, tokens_after int4, detail jsonb)
ON CONFLICT (project_id, agent_id, id) DO UPDATE SET type = EXCLUDED.type, at = EXCLUDED.at,
  window_index = EXCLUDED.window_index, tokens_before = EXCLUDED.tokens_before, tokens_after = EXCLUDED.tokens_after,
  detail = EXCLUDED.detail`;

export async function writeBoundaries(
  sql: Sql,
  rows: readonly BoundaryRow[],
  receivedAt: number,
): Promise<void> {
  if (rows.length === 0) return;
  const records = rows.map(({ agent, sessionId, origin, reading, sentWindow, detail }) => ({
    project_id: agent.projectId,
    agent_id: agent.id,
    id: reading.id,
    session_id: sessionId,
    type: reading.type,
    origin,
    at: reading.at,
    window_index: reading.window,
    sent_window: sentWindow,
    tokens_before: reading.tokensBefore,
    tokens_after: reading.tokensAfter,
    detail,
  }));
  await sql.execute(UPSERT_BOUNDARIES, JSON.stringify(records), receivedAt);
}

/** Boundaries stored earlier whose level the turns have settled since. */
export async function settleBoundaries(
  sql: Sql,
  rows: readonly { agent: AgentKey; reading: BoundaryReading }[],
): Promise<void> {
  if (rows.length === 0) return;
  await sql.execute(
    `UPDATE boundaries b SET window_index = r.w, tokens_before = r.f, tokens_after = r.t
     FROM jsonb_to_recordset($1::jsonb) AS r(p int4, a uuid, i text, w int4, f int4, t int4)
     WHERE b.project_id = r.p AND b.agent_id = r.a AND b.id = r.i`,
    JSON.stringify(
      rows.map(({ agent, reading }) => ({
        p: agent.projectId,
        a: agent.id,
        i: reading.id,
        w: reading.window,
        f: reading.tokensBefore,
        t: reading.tokensAfter,
      })),
    ),
  );
}

export async function deleteBoundaries(
  sql: Sql,
  rows: readonly { agent: AgentKey; id: string }[],
): Promise<void> {
  await deleteRows(sql, "boundaries", rows);
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

const UPSERT_CROSSINGS = `
INSERT INTO crossings (project_id, agent_id, id, session_id, threshold, up, origin, at, turn_key, threshold_tokens,
  context_tokens, window_tokens)
SELECT project_id, agent_id, id, session_id, threshold, up, origin, to_timestamp(at / 1000), turn_key,
  threshold_tokens, context_tokens, window_tokens
FROM jsonb_to_recordset($1::jsonb) AS r(project_id int4, agent_id uuid, id text, session_id uuid, threshold text,
  up bool, origin int2, at float8, turn_key int8, threshold_tokens int4, context_tokens int4, window_tokens int4)
ON CONFLICT (project_id, agent_id, id) DO UPDATE SET origin = EXCLUDED.origin, at = EXCLUDED.at,
  threshold_tokens = EXCLUDED.threshold_tokens, context_tokens = EXCLUDED.context_tokens,
  window_tokens = EXCLUDED.window_tokens`;

export async function writeCrossings(sql: Sql, rows: readonly CrossingRow[]): Promise<void> {
  if (rows.length === 0) return;
  const records = rows.map(({ agent, sessionId, crossing }) => ({
    project_id: agent.projectId,
    agent_id: agent.id,
    id: crossing.id,
    session_id: sessionId,
    threshold: crossing.threshold,
    up: crossing.up,
    origin: crossingOriginCode(crossing.origin),
    at: crossing.at,
    // Past 2^53 a JSON number would lose digits; PostgreSQL reads the string.
    turn_key: crossing.turnKey,
    threshold_tokens: crossing.thresholdTokens,
    context_tokens: crossing.contextTokens,
    window_tokens: crossing.windowTokens,
  }));
  await sql.execute(UPSERT_CROSSINGS, JSON.stringify(records));
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

export async function deleteCrossings(
  sql: Sql,
  rows: readonly { agent: AgentKey; id: string }[],
): Promise<void> {
  await deleteRows(sql, "crossings", rows);
}

async function deleteRows(
  sql: Sql,
  table: "boundaries" | "crossings",
  rows: readonly { agent: AgentKey; id: string }[],
): Promise<void> {
  if (rows.length === 0) return;
  await sql.execute(
    `DELETE FROM ${table} b USING jsonb_to_recordset($1::jsonb) AS r(p int4, a uuid, i text)
     WHERE b.project_id = r.p AND b.agent_id = r.a AND b.id = r.i`,
    JSON.stringify(rows.map(({ agent, id }) => ({ p: agent.projectId, a: agent.id, i: id }))),
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

export async function writeWindows(
  sql: Sql,
  rows: readonly { agent: AgentKey; window: WindowSummary }[],
): Promise<void> {
  if (rows.length === 0) return;
  await sql.execute(UPSERT_WINDOWS, ...WINDOW_COLUMNS.parameters(rows));
}

/** Windows of re-read agents that no longer hold a turn. */
export async function deleteOtherWindows(sql: Sql, agent: AgentKey, kept: readonly number[]): Promise<void> {
  await sql.execute(
    "DELETE FROM windows WHERE project_id = $1 AND agent_id = $2::uuid AND NOT (index = ANY($3::int4[]))",
    agent.projectId,
    agent.id,
    arrayLiteral(kept),
  );
}
