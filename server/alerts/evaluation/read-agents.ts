import {
  type AgentSight,
  type CacheLife,
  cacheLife,
  EMPTY_STATE,
  type InForce,
  judgedBy,
  type LineKeeper,
  orderTurns,
  type ReportedLine,
  type SeenBoundary,
  type ThresholdTimeline,
  thresholdSource,
} from "@plimsoll/fold";
import { lineKeeper } from "@plimsoll/harnesses/lines";
import type { BoundaryType, FallHint } from "@plimsoll/protocol/events";
import { type Line, lineOf } from "@plimsoll/protocol/policy";
import type { Sql } from "../../db/sql.ts";
import { arrayLiteral } from "../../db/tables/binary-arrays.ts";
import { sourceOf } from "../../db/tables/codes.ts";
import { unpackStored } from "../../db/tables/packed-state.ts";
import { inBatches, readTurnRuns, readTurnsBetween } from "../../db/tables/read-turns.ts";
import { cacheOf, isLevel, levelOf } from "../../db/tables/turns.ts";
import { readAcknowledgements } from "../../lines/acknowledgements.ts";
import type { PolicyBook } from "../../lines/policy-book.ts";
import { LIVE_FOR } from "../../read/liveness.ts";
import { HOUR_MS } from "../../times.ts";

/** An agent as the rules see it. Times in epoch ms. */
export interface SeenAgent {
  id: string;
  number: number;
  name: string;
  model: string | undefined;
  sessionId: string;
  session: string;
  kind: string | undefined;
  harness: string;
  lastReceivedAt: number;
  /** Whether its harness said that the session is over. */
  ended: boolean;
  /** The key of the turn that the sight is about. */
  turnKey: string | undefined;
  sight: AgentSight;
  cache: CacheLife | undefined;
}

interface StoredAgent {
  id: string;
  number: number;
  name: string;
  model: string | null;
  sessionId: string;
  session: string;
  kind: string | null;
  harness: string;
  firstAt: number;
  lastAt: number;
  lastReceivedAt: number;
  turns: number;
  ended: boolean;
  currentTokens: number | null;
  currentWindow: number | null;
  windowSource: number;
  state: string | null;
}

const ms = (column: string) => `(extract(epoch FROM ${column}) * 1000)::float8`;
const FIELDS = `
SELECT a.id, a.number, a.name, a.model, a.session_id AS "sessionId", s.name AS session, s.kind, s.harness,
  ${ms("a.first_at")} AS "firstAt", ${ms("a.last_at")} AS "lastAt", ${ms("a.last_received_at")} AS "lastReceivedAt", a.turns,
  (s.ended_at IS NOT NULL AND s.last_at <= s.ended_at) AS ended, a.current_tokens AS "currentTokens",
  a.current_window AS "currentWindow", a.window_source AS "windowSource", a.state
FROM agents a JOIN sessions s ON s.project_id = $1 AND s.id = a.session_id
WHERE a.project_id = $1 AND s.deleted_at IS NULL`;
const OF_SESSIONS = `${FIELDS} AND a.session_id = ANY($2::uuid[])`;
const LIVE_AGENTS = `${FIELDS} AND s.project_id = $1 AND s.open_slot >= $2::int4 AND a.turns > 0
ORDER BY a.last_received_at DESC LIMIT $3`;

/** Milliseconds in which boundaries are looked for. */
const BOUNDARIES_FOR = 2 * HOUR_MS;

const RECENT_BOUNDARIES = `
SELECT w.id AS agent, b.id, b.type, ${ms("b.at")} AS at, ${ms("b.received_at")} AS "receivedAt",
  b.tokens_before AS before, b.tokens_after AS after, b.detail->>'hint' AS hint,
  CASE WHEN b.type = 'restarted' THEN (b.detail->>'number')::float8 END AS number
FROM unnest($2::uuid[]) AS w (id) CROSS JOIN LATERAL (
  SELECT b.* FROM boundaries b WHERE b.project_id = $1 AND b.agent_id = w.id
    AND b.type = ANY('{masked,compacted,subtick,restarted,cleared,unexplained}'::text[])
    AND b.at > to_timestamp($3::float8 / 1000) ORDER BY b.at DESC, b.id DESC LIMIT $4) b`;

interface StoredBoundary {
  agent: string;
  id: string;
  type: BoundaryType;
  at: number;
  receivedAt: number;
  before: number | null;
  after: number | null;
  hint: FallHint | null;
  number: number | null;
}

export interface AgentsSource {
  sql: Pick<Sql, "query">;
  projectId: number;
  policy: PolicyBook;
  /** Epoch ms. */
  now: number;
}

/** The agents of some sessions. Boundaries and turn times are empty; see `addBoundaries` and `addTurnTimes`. */
export async function readSessionAgents(
  source: AgentsSource,
  sessions: readonly string[],
): Promise<SeenAgent[]> {
  if (sessions.length === 0) return [];
  const { sql, projectId } = source;
  return seenAgents(source, await sql.query<StoredAgent>(OF_SESSIONS, projectId, arrayLiteral(sessions)));
}

/** The agents heard from last. `slot` see store/buckets.ts. */
export async function readLiveAgents(
  source: AgentsSource,
  slot: number,
  limit: number,
): Promise<SeenAgent[]> {
  const { sql, projectId } = source;
  return seenAgents(source, await sql.query<StoredAgent>(LIVE_AGENTS, projectId, slot, limit));
}

/** Whether nothing has been heard of an agent for so long that its level says nothing. */
export const isSilent = ({ lastReceivedAt }: Pick<SeenAgent, "lastReceivedAt">, now: number): boolean =>
  lastReceivedAt <= now - LIVE_FOR;

async function seenAgents(source: AgentsSource, rows: readonly StoredAgent[]): Promise<SeenAgent[]> {
  const { sql, projectId, policy, now } = source;
  const harnesses = [...new Set(rows.map(({ harness }) => harness))];
  const acks = await readAcknowledgements(sql, projectId, harnesses);
  const timelines = new Map(
    harnesses.map((name) => [name, policy.timelineOf(name, acks.get(name)!.acks)] as const),
  );
  return rows.map((row) => seenAgent(row, timelines.get(row.harness)!, now));
}

function seenAgent(row: StoredAgent, timeline: ThresholdTimeline, now: number): SeenAgent {
  const { id, number, name, sessionId, session, harness, lastReceivedAt, ended } = row;
  const state = row.state === null ? EMPTY_STATE : unpackStored(row.state).state;
  const model = row.model ?? undefined;
  const windowTokens = row.currentWindow ?? undefined;
  const at = state.currentAt ?? row.lastAt;
  const inForce = timeline.at(Math.max(now, row.lastAt), model);
  const steps = Math.max(1, row.turns - 1);
  const line = lineOf(judgedBy(inForce, state.reportedLines, model), windowTokens);
  return {
    id,
    number,
    name,
    model,
    sessionId,
    session,
    kind: row.kind ?? undefined,
    harness,
    lastReceivedAt,
    ended,
    turnKey: state.levels.at(-1)?.turnKey,
    cache: cacheLife(state),
    sight: {
      at,
      receivedAt: lastReceivedAt,
      window: state.currentWindow ?? 0,
      contextTokens: row.currentTokens ?? undefined,
      windowTokens,
      windowSource: sourceOf(row.windowSource),
      line,
      lineKeeper: keeperOf(harness, line, inForce, state.reportedLines, model),
      above: state.above,
      recent: state.recent,
      msPerTurn: row.turns > 1 ? (row.lastAt - row.firstAt) / steps : undefined,
      boundaries: [],
      turnTimes: undefined,
      caches: [],
    },
  };
}

/** Who acts at the line of an agent. */
export const keeperOf = (
  harness: string,
  line: Line | undefined,
  inForce: InForce,
  reportedLines: readonly ReportedLine[],
  model: string | undefined,
): LineKeeper =>
  line === undefined
    ? "nobody"
    : lineKeeper(harness, thresholdSource(inForce, reportedLines, model, line.threshold));

/**
 * Adds the latest boundaries of agents to their sights.
 * @param limit boundaries of one agent
 */
export async function addBoundaries(
  { sql, projectId, now }: AgentsSource,
  agents: readonly SeenAgent[],
  limit: number,
): Promise<void> {
  if (agents.length === 0) return;
  const ids = arrayLiteral(agents.map(({ id }) => id));
  const rows = await sql.query<StoredBoundary>(
    RECENT_BOUNDARIES,
    projectId,
    ids,
    now - BOUNDARIES_FOR,
    limit,
  );
  const byAgent = new Map(agents.map(({ id }) => [id, [] as SeenBoundary[]]));
  for (const row of rows) byAgent.get(row.agent)?.push(seenBoundary(row));
  for (const agent of agents) agent.sight = { ...agent.sight, boundaries: byAgent.get(agent.id)! };
}

function seenBoundary({
  id,
  type,
  at,
  receivedAt,
  before,
  after,
  hint,
  number,
}: StoredBoundary): SeenBoundary {
  return {
    id,
    type,
    at,
    receivedAt,
    tokensBefore: before ?? undefined,
    tokensAfter: after ?? undefined,
    hint: hint ?? undefined,
    number: number ?? undefined,
  };
}

/**
 * Adds the times of the turns since one of the latest boundaries. Call it for the few agents that need them.
 * @param boundaries the last of them that matters, counted from the newest
 */
export async function addTurnTimes(
  { sql, projectId, now }: AgentsSource,
  agents: readonly SeenAgent[],
  boundaries: number,
): Promise<void> {
  const from = Math.min(
    ...agents.map(({ sight }) => sight.boundaries.slice(0, boundaries).at(-1)?.at ?? now),
  );
  const times = new Map(agents.map(({ number }) => [number, [] as number[]]));
  const active = agents.map(({ number, harness }) => ({ number, harness, blocks: 1 }));
  // Turns may be dated a few minutes ahead.
  const span = { from, to: now + HOUR_MS };
  for await (const block of readTurnsBetween(sql, projectId, active, span))
    for (const turn of block) if (isLevel(turn)) times.get(turn.agent)?.push(turn.at);
  for (const agent of agents) {
    const turnTimes = times.get(agent.number)!.sort((one, other) => other - one);
    agent.sight = { ...agent.sight, turnTimes };
  }
}

/** Segments with the latest turns: one of them may have just begun. */
const LATEST_SEGMENTS = 2;
/** Agents whose turns one statement reads. */
const AGENTS_AT_ONCE = 100;

/**
 * Adds what the latest turns had of their caches. Call it for the agents that need them.
 * @param turns of one agent
 */
export async function addCaches(
  { sql, projectId }: AgentsSource,
  agents: readonly SeenAgent[],
  turns: number,
): Promise<void> {
  for (const batch of inBatches(agents, () => 1, AGENTS_AT_ONCE)) {
    const byNumber = new Map(batch.map((agent) => [agent.number, agent]));
    const asked = batch.map(({ number }) => ({
      agent: number,
      until: Number.POSITIVE_INFINITY,
      segments: LATEST_SEGMENTS,
    }));
    for (const run of await readTurnRuns(sql, projectId, asked)) {
      const agent = byNumber.get(run.agent)!;
      const placed = run.turns
        .filter((turn) => turn.windowIndex === agent.sight.window && levelOf(turn) !== undefined)
        .map((turn) => ({ turn, window: turn.windowIndex, seq: 0 }));
      orderTurns(placed);
      const latest = placed.slice(-turns).reverse();
      agent.sight = { ...agent.sight, caches: latest.map(({ turn }) => cacheOf(turn)) };
    }
  }
}
