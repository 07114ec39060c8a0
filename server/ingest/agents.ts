import type { AgentState, BoundaryType, Thresholds } from "@plimsoll/protocol";
import { EMPTY_STATE, lineOf, loadOf } from "@plimsoll/protocol";
import { LRUCache } from "lru-cache";
import type { Sql } from "../db/sql.ts";
import { sourceCode } from "./codes.ts";
import { arrayLiteral, type Column, Columns } from "./columns.ts";
import { NeedsCare } from "./needs-care.ts";

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
  /** How often it was written: whoever writes it next must have read this one. */
  version: number;
}

/** Agents remembered by one process; some 2 kB each. */
const REMEMBERED = 5_000;

/**
 * Where agents stood when this process last wrote or read them. What another process wrote since is found out when
 * writing: the version no longer fits then.
 */
export class AgentMemory {
  readonly #agents = new LRUCache<string, KnownAgent>({ max: REMEMBERED });
  /** How many batches under way write an agent. */
  readonly #writing = new Map<string, number>();

  get(id: string): KnownAgent | undefined {
    return this.#agents.get(id);
  }

  has(id: string): boolean {
    return this.#agents.has(id);
  }

  /** Keeps what was committed; two commits may be heard of in the wrong order. */
  keep(id: string, agent: KnownAgent): void {
    const known = this.#agents.get(id);
    if (known === undefined || known.version < agent.version) this.#agents.set(id, agent);
  }

  forget(ids: Iterable<string>): void {
    for (const id of ids) this.#agents.delete(id);
  }

  /** Whether a batch under way in this process writes one of them: what is remembered of it is about to move. */
  moving(ids: Iterable<string>): boolean {
    if (this.#writing.size > 0) for (const id of ids) if (this.#writing.has(id)) return true;
    return false;
  }

  begin(ids: Iterable<string>): void {
    for (const id of ids) this.#writing.set(id, (this.#writing.get(id) ?? 0) + 1);
  }

  end(ids: Iterable<string>): void {
    for (const id of ids) {
      const left = this.#writing.get(id)! - 1;
      if (left === 0) this.#writing.delete(id);
      else this.#writing.set(id, left);
    }
  }
}

interface StoredAgent extends Omit<Tally, "reclaimed"> {
  id: string;
  version: number;
  state: Partial<AgentState>;
  reclaimed: string;
}

/** Where each agent stands. What is made of it can be written while nobody else wrote the agent. */
export async function readAgents(
  sql: Sql,
  agents: readonly { projectId: number; id: string }[],
): Promise<Map<string, KnownAgent>> {
  if (agents.length === 0) return new Map();
  const stored = await sql.query<StoredAgent>(
    `SELECT id, version, state, masked, compacted, subticks, restarts, cleared, unexplained, reclaimed, warnings FROM agents
     WHERE (project_id, id) IN (SELECT * FROM unnest($1::int4[], $2::uuid[]))`,
    arrayLiteral(agents.map((agent) => agent.projectId)),
    arrayLiteral(agents.map((agent) => agent.id)),
  );
  return new Map(
    stored.map(({ id, version, state, reclaimed, ...counts }) => [
      id,
      { version, state: { ...EMPTY_STATE, ...state }, tally: { ...counts, reclaimed: Number(reclaimed) } },
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
  /** Where it stood before; undefined for an agent never heard of. */
  before: KnownAgent | undefined;
  /** Whether its history was folded anew, so that figures may have fallen too. */
  readAgain: boolean;
}

export function versionOf(row: Pick<AgentRow, "before">): number {
  return (row.before?.version ?? 0) + 1;
}

/** How far it stands up to its own line; undefined while either is unknown. */
export function agentLoad({ state, thresholds }: AgentRow): number | undefined {
  return loadOf(state.current, lineOf(thresholds, state.windowTokens));
}

/** The columns that agents and sessions count in. */
export const TALLY_COLUMNS: readonly Column<{ tally: Tally }>[] = [
  ["masked", "int4", (row) => row.tally.masked],
  ["compacted", "int4", (row) => row.tally.compacted],
  ["subticks", "int4", (row) => row.tally.subticks],
  ["restarts", "int4", (row) => row.tally.restarts],
  ["cleared", "int4", (row) => row.tally.cleared],
  ["unexplained", "int4", (row) => row.tally.unexplained],
  ["reclaimed", "int8", (row) => row.tally.reclaimed],
  ["warnings", "int4", (row) => row.tally.warnings],
];

const COLUMNS = new Columns<AgentRow>([
  ["project_id", "int4", (row) => row.projectId],
  ["id", "uuid", (row) => row.id],
  ["version", "int4", versionOf],
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
  ["load", "float4", agentLoad],
  ["peak_tokens", "int4", (row) => row.state.peak?.tokens],
  ["peak_window", "int4", (row) => row.state.peak?.windowTokens],
  ["peak_utilization", "float4", (row) => row.state.peakUtilization],
  ["peak_ms", "float8", (row) => row.state.peak?.at],
  ...TALLY_COLUMNS,
  ["state", "text", (row) => JSON.stringify(row.state)],
]);

const UPSERT = `
INSERT INTO agents AS a (project_id, id, version, session_id, name, parent, model, first_at, last_at, last_received_at, turns,
  windows, current_tokens, current_window, window_source, load, peak_tokens, peak_window, peak_utilization, peak_at,
  masked, compacted, subticks, restarts, cleared, unexplained, reclaimed, warnings, state)
SELECT project_id, id, version, session_id, name, parent, model, to_timestamp(first_ms / 1000), to_timestamp(last_ms / 1000),
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
  warnings = EXCLUDED.warnings, state = EXCLUDED.state, version = EXCLUDED.version
WHERE a.version = EXCLUDED.version - 1`;

/** @throws NeedsCare `agent_moved` when one of them was written since it was read */
export async function writeAgents(sql: Sql, rows: readonly AgentRow[], receivedAt: number): Promise<void> {
  if (rows.length === 0) return;
  const written = await sql.execute(UPSERT, ...COLUMNS.parameters(rows), receivedAt);
  if (written !== rows.length) throw new NeedsCare("agent_moved");
}
