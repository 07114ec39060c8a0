import type { AgentState, BoundaryType, Thresholds } from "@plimsoll/protocol";
import { lineOf, loadOf } from "@plimsoll/protocol";
import { LRUCache } from "lru-cache";
import type { Sql, WriterSql } from "../db/sql.ts";
import { sourceCode } from "./codes.ts";
import { arrayLiteral, Columns } from "./columns.ts";
import { packState, unpackState } from "./packed-state.ts";
import { violatesNotNull } from "./violations.ts";

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

/** Milliseconds for which an agent that another process wrote as well is read each time. */
const CONTESTED_FOR = 60_000;

/**
 * Where agents stood when this process last wrote or read them. What another process wrote since is found out when
 * writing: the version no longer fits then.
 */
export class AgentMemory {
  readonly #agents = new LRUCache<string, KnownAgent>({ max: REMEMBERED });
  readonly #contested = new LRUCache<string, true>({ max: REMEMBERED, ttl: CONTESTED_FOR });
  /** How many batches under way write an agent. */
  readonly #writing = new Map<string, number>();

  get(id: string): KnownAgent | undefined {
    return this.#agents.get(id);
  }

  /** Keeps what was committed; two commits may be heard of in the wrong order. */
  keep(id: string, agent: KnownAgent): void {
    if (this.#contested.has(id)) return;
    const known = this.#agents.get(id);
    if (known === undefined || known.version < agent.version) this.#agents.set(id, agent);
  }

  /** One of them was written by another process. A load balancer may send both the same agents for a long time. */
  contest(ids: Iterable<string>): void {
    for (const id of ids) this.#contested.set(id, true);
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

interface AgentKey {
  projectId: number;
  id: string;
}

interface StoredAgent extends Omit<Tally, "reclaimed"> {
  id: string;
  version: number;
  state: string;
  reclaimed: string;
}

const READ = `SELECT id, version, state, masked, compacted, subticks, restarts, cleared, unexplained, reclaimed, warnings
FROM agents WHERE (project_id, id) IN (SELECT * FROM unnest($1::int4[], $2::uuid[]))`;

/** Where each agent stands. What is made of it can be written while nobody else wrote the agent. */
export function readAgents(sql: Sql, agents: readonly AgentKey[]): Promise<Map<string, KnownAgent>> {
  return read(sql, READ, agents);
}

/** The same, and nobody else can write these agents before the transaction ends. In one order everywhere. */
export function lockAgents(sql: Sql, agents: readonly AgentKey[]): Promise<Map<string, KnownAgent>> {
  return read(sql, `${READ} ORDER BY project_id, id FOR UPDATE`, agents);
}

async function read(sql: Sql, text: string, agents: readonly AgentKey[]): Promise<Map<string, KnownAgent>> {
  if (agents.length === 0) return new Map();
  const stored = await sql.query<StoredAgent>(
    text,
    arrayLiteral(agents.map((agent) => agent.projectId)),
    arrayLiteral(agents.map((agent) => agent.id)),
  );
  return new Map(
    stored.map(({ id, version, state, reclaimed, ...counts }) => [
      id,
      { version, state: unpackState(state), tally: { ...counts, reclaimed: Number(reclaimed) } },
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
}

export function versionOf(row: Pick<AgentRow, "before">): number {
  return (row.before?.version ?? 0) + 1;
}

/** How far it stands up to its own line; undefined while either is unknown. */
function agentLoad({ state, thresholds }: AgentRow): number | undefined {
  return loadOf(state.current, lineOf(thresholds, state.windowTokens));
}

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
  ["masked", "int4", (row) => row.tally.masked],
  ["compacted", "int4", (row) => row.tally.compacted],
  ["subticks", "int4", (row) => row.tally.subticks],
  ["restarts", "int4", (row) => row.tally.restarts],
  ["cleared", "int4", (row) => row.tally.cleared],
  ["unexplained", "int4", (row) => row.tally.unexplained],
  ["reclaimed", "int8", (row) => row.tally.reclaimed],
  ["warnings", "int4", (row) => row.tally.warnings],
  ["state", "text", (row) => packState(row.state)],
]);

const UPSERT = `
INSERT INTO agents AS a (project_id, id, version, session_id, name, parent, model, first_at, last_at, last_received_at, turns,
  windows, current_tokens, current_window, window_source, load, peak_tokens, peak_window, peak_utilization, peak_at,
  masked, compacted, subticks, restarts, cleared, unexplained, reclaimed, warnings, state)
SELECT project_id, id, version, session_id, name, parent, model, to_timestamp(first_ms / 1000), to_timestamp(last_ms / 1000),
  to_timestamp($${COLUMNS.count + 1}::float8 / 1000), turns, windows, current_tokens, current_window, window_source,
  load, peak_tokens, peak_window, peak_utilization, to_timestamp(peak_ms / 1000), masked, compacted, subticks,
  restarts, cleared, unexplained, reclaimed, warnings, state
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
  warnings = EXCLUDED.warnings, state = EXCLUDED.state,
  version = CASE WHEN a.version = EXCLUDED.version - 1 THEN EXCLUDED.version END`;

/**
 * Fails the transaction when one of them was written since it was read: see `isAgentMoved`. In one order everywhere, so
 * that writers that meet do not deadlock; from here to the commit nobody else writes what belongs to these agents.
 */
export function writeAgents(sql: WriterSql, rows: readonly AgentRow[], receivedAt: number): void {
  if (rows.length === 0) return;
  const sorted = [...rows].sort((a, b) => a.projectId - b.projectId || (a.id < b.id ? -1 : 1));
  sql.send(UPSERT, ...COLUMNS.parameters(sorted), receivedAt);
}

/** Whether a transaction failed because an agent it writes was written by another since it was read. */
export function isAgentMoved(error: unknown): boolean {
  // Its version is set to null then, which no agent's may be.
  return violatesNotNull(error, "agents", "version");
}
