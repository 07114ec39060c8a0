import type { AgentState, BoundaryType, Thresholds } from "@plimsoll/protocol";
import { EMPTY_STATE, lineOf, loadOf } from "@plimsoll/protocol";
import type { Sql } from "../db/sql.ts";
import { sourceCode } from "./codes.ts";
import { arrayLiteral, Columns } from "./columns.ts";

/** How often each thing happened to an agent. `reclaimed` in tokens. */
export interface Tally {
  masked: number;
  compacted: number;
  subticks: number;
  restarts: number;
  cleared: number;
  unexplained: number;
  reclaimed: number;
  warnings: number;
}

export const EMPTY_TALLY: Tally = {
  masked: 0,
  compacted: 0,
  subticks: 0,
  restarts: 0,
  cleared: 0,
  unexplained: 0,
  reclaimed: 0,
  warnings: 0,
};

/** The column that counts a boundary type. */
export const TALLY_OF: Record<BoundaryType, keyof Tally> = {
  masked: "masked",
  compacted: "compacted",
  subtick: "subticks",
  restarted: "restarts",
  cleared: "cleared",
  unexplained: "unexplained",
};

export interface KnownAgent {
  state: AgentState;
  tally: Tally;
}

interface StoredAgent extends Omit<Tally, "reclaimed"> {
  id: string;
  state: Partial<AgentState>;
  reclaimed: string;
}

/** Where each agent stands. Their sessions must be locked by this transaction. */
export async function readAgents(
  sql: Sql,
  agents: readonly { projectId: number; id: string }[],
): Promise<Map<string, KnownAgent>> {
  if (agents.length === 0) return new Map();
  const stored = await sql.query<StoredAgent>(
    `SELECT id, state, masked, compacted, subticks, restarts, cleared, unexplained, reclaimed, warnings FROM agents
     WHERE (project_id, id) IN (SELECT * FROM unnest($1::int4[], $2::uuid[]))`,
    arrayLiteral(agents.map((agent) => agent.projectId)),
    arrayLiteral(agents.map((agent) => agent.id)),
  );
  return new Map(
    stored.map(({ id, state, reclaimed, ...counts }) => [
      id,
      { state: { ...EMPTY_STATE, ...state }, tally: { ...counts, reclaimed: Number(reclaimed) } },
    ]),
  );
}

export interface AgentRow {
  projectId: number;
  id: string;
  sessionId: string;
  name: string;
  parent: string | undefined;
  firstAt: number;
  lastAt: number;
  state: AgentState;
  tally: Tally;
  thresholds: Thresholds;
}

const COLUMNS = new Columns<AgentRow>([
  ["project_id", "int4", (row) => row.projectId],
  ["id", "uuid", (row) => row.id],
  ["session_id", "uuid", (row) => row.sessionId],
  ["name", "text", (row) => row.name],
  ["parent", "text", (row) => row.parent],
  ["model", "text", (row) => row.state.model],
  ["first_ms", "float8", (row) => row.firstAt],
  ["last_ms", "float8", (row) => row.lastAt],
  ["turns", "int4", (row) => row.state.turns],
  ["windows", "int4", (row) => row.state.windows],
  ["current_tokens", "int4", (row) => row.state.current],
  ["current_window", "int4", (row) => row.state.windowTokens],
  ["window_source", "int2", (row) => sourceCode(row.state.windowSource)],
  ["load", "float4", (row) => loadOf(row.state.current, lineOf(row.thresholds, row.state.windowTokens))],
  ["peak_tokens", "int4", (row) => row.state.peak?.tokens],
  ["peak_window", "int4", (row) => row.state.peak?.windowTokens],
  ["peak_utilization", "float4", (row) => row.state.peakUtilization],
  ["peak_ms", "float8", (row) => row.state.peak?.at],
  ["masked", "int4", (row) => row.tally.masked],
  ["compacted", "int4", (row) => row.tally.compacted],
  ["subticks", "int4", (row) => row.tally.subticks],
  ["restarts", "int4", (row) => row.tally.restarts],
  ["cleared", "int4", (row) => row.tally.cleared],
  ["unexplained", "int4", (row) => row.tally.unexplained],
  ["reclaimed", "int8", (row) => row.tally.reclaimed],
  ["warnings", "int4", (row) => row.tally.warnings],
  ["state", "text", (row) => JSON.stringify(row.state)],
]);

const UPSERT = `
INSERT INTO agents AS a (project_id, id, session_id, name, parent, model, first_at, last_at, last_received_at, turns,
  windows, current_tokens, current_window, window_source, load, peak_tokens, peak_window, peak_utilization, peak_at,
  masked, compacted, subticks, restarts, cleared, unexplained, reclaimed, warnings, state)
SELECT project_id, id, session_id, name, parent, model, to_timestamp(first_ms / 1000), to_timestamp(last_ms / 1000),
  to_timestamp($${COLUMNS.count + 1}::float8 / 1000), turns, windows, current_tokens, current_window, window_source,
  load, peak_tokens, peak_window, peak_utilization, to_timestamp(peak_ms / 1000), masked, compacted, subticks,
  restarts, cleared, unexplained, reclaimed, warnings, state::json
FROM (${COLUMNS.select}) r
ON CONFLICT (project_id, id) DO UPDATE SET
  parent = LEAST(a.parent COLLATE "C", EXCLUDED.parent COLLATE "C"), model = EXCLUDED.model,
  first_at = LEAST(a.first_at, EXCLUDED.first_at), last_at = GREATEST(a.last_at, EXCLUDED.last_at),
  last_received_at = GREATEST(a.last_received_at, EXCLUDED.last_received_at),
  turns = EXCLUDED.turns, windows = EXCLUDED.windows, current_tokens = EXCLUDED.current_tokens,
  current_window = EXCLUDED.current_window, window_source = EXCLUDED.window_source, load = EXCLUDED.load,
  peak_tokens = EXCLUDED.peak_tokens, peak_window = EXCLUDED.peak_window,
  peak_utilization = EXCLUDED.peak_utilization, peak_at = EXCLUDED.peak_at, masked = EXCLUDED.masked,
  compacted = EXCLUDED.compacted, subticks = EXCLUDED.subticks, restarts = EXCLUDED.restarts,
  cleared = EXCLUDED.cleared, unexplained = EXCLUDED.unexplained, reclaimed = EXCLUDED.reclaimed,
  warnings = EXCLUDED.warnings, state = EXCLUDED.state`;

export async function writeAgents(sql: Sql, rows: readonly AgentRow[], receivedAt: number): Promise<void> {
  if (rows.length === 0) return;
  await sql.execute(UPSERT, ...COLUMNS.parameters(rows), receivedAt);
}
