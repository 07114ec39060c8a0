import { isThreshold, orderTurns, type PlacedTurn } from "@plimsoll/fold";
import type { AlertRule } from "@plimsoll/protocol/alerts";
import type { AlertBacktest } from "@plimsoll/protocol/api";
import type { BoundaryType, FallHint } from "@plimsoll/protocol/events";
import type { Sql } from "../../db/sql.ts";
import { arrayLiteral } from "../../db/tables/binary-arrays.ts";
import { REPORTED_CROSSINGS } from "../../db/tables/codes.ts";
import { readTurnsBetween } from "../../db/tables/read-turns.ts";
import { cacheOf, levelOf, type TurnRow } from "../../db/tables/turns.ts";
import { PlimsollError } from "../../errors.ts";
import { readAcknowledgements } from "../../lines/acknowledgements.ts";
import type { PolicyBook } from "../../lines/policy-book.ts";
import { iso, type Span } from "../../times.ts";
import { isAgentRule, loadRule, selects } from "../rule-book.ts";
import { AgentSimulation, type RecordedItem, type SimulatedFiring } from "./simulate-agent.ts";

/** A backtest stops after so many turns, or so many milliseconds. */
const MOST_TURNS = 500_000;
const MOST_MS = 10_000;
const MOST_AGENTS = 20_000;
const AGENTS_AT_ONCE = 100;
/** Firings in one answer. */
const MOST_FIRINGS = 200;

interface TestedAgent {
  id: string;
  number: number;
  name: string;
  model: string | null;
  sessionId: string;
  session: string;
  kind: string | null;
  harness: string;
  turns: number;
  /** When its session ended, as its harness said; null if it did not. Epoch ms. */
  endedAt: number | null;
}

const time = (parameter: string) => `to_timestamp(${parameter}::float8 / 1000)`;
const ms = (column: string) => `(extract(epoch FROM ${column}) * 1000)::float8`;
const AGENTS = `
SELECT a.id, a.number, a.name, a.model, s.id AS "sessionId", s.name AS session, s.kind, s.harness, a.turns,
  CASE WHEN s.last_at <= s.ended_at THEN ${ms("s.ended_at")} END AS "endedAt"
FROM agents a JOIN sessions s ON s.project_id = $1 AND s.id = a.session_id
WHERE a.project_id = $1 AND s.deleted_at IS NULL AND a.last_at >= ${time("$2")} AND a.first_at < ${time("$3")}
ORDER BY a.last_at DESC, a.id LIMIT ${MOST_AGENTS + 1}`;
const BOUNDARIES = `
SELECT b.agent_id AS agent, b.id, b.type, ${ms("b.at")} AS at, b.window_index AS window, b.tokens_before AS before,
  b.tokens_after AS after, b.detail
FROM boundaries b WHERE b.project_id = $1 AND b.agent_id = ANY($2::uuid[])
  AND b.type = ANY('{masked,compacted,subtick,restarted,cleared,unexplained}'::text[])
  AND b.at >= ${time("$3")} AND b.at < ${time("$4")} ORDER BY b.at, b.id`;
// Also those of before: an agent may be above its line when the span begins.
const CROSSINGS = `
SELECT c.agent_id AS agent, c.threshold, c.up, ${ms("c.at")} AS at,
  CASE WHEN c.origin = ANY('{${REPORTED_CROSSINGS.join(",")}}'::int4[]) THEN c.threshold_tokens END AS "reportedTokens"
FROM crossings c
WHERE c.project_id = $1 AND c.agent_id = ANY($2::uuid[]) AND c.at < ${time("$3")} ORDER BY c.at, c.id`;
const MODELS = "SELECT id, name FROM models WHERE project_id = $1";

interface StoredBoundary {
  agent: string;
  id: string;
  type: BoundaryType;
  at: number;
  before: number | null;
  after: number | null;
  detail: { hint?: FallHint; number?: number };
}

interface StoredCrossing {
  agent: string;
  threshold: string;
  up: boolean;
  at: number;
  reportedTokens: number | null;
}

export interface BacktestInput {
  sql: Pick<Sql, "query">;
  projectId: number;
  policy: PolicyBook;
  rule: AlertRule;
  span: Span;
}

/**
 * What a rule about agents would have told over recorded history. Examines the agents heard from last first, within a bound.
 * @throws PlimsollError `bad_request` for a rule about something else
 */
export async function backtest({
  sql,
  projectId,
  policy,
  rule,
  span,
}: BacktestInput): Promise<AlertBacktest> {
  const { type } = rule.condition;
  const loaded = loadRule({ id: "", judgedVersion: 1, body: rule });
  if (!isAgentRule(loaded))
    throw new PlimsollError(
      "bad_request",
      `A ${type} rule cannot be tested: a backtest runs conditions about agents only.`,
    );
  const found = await sql.query<TestedAgent>(AGENTS, projectId, span.from, span.to);
  const selected = found.slice(0, MOST_AGENTS).filter((agent) => selects(loaded, scopeOf(agent)));
  const models = new Map(
    (await sql.query<{ id: number; name: string }>(MODELS, projectId)).map(({ id, name }) => [id, name]),
  );
  const until = performance.now() + MOST_MS;
  const firings: { agent: TestedAgent; firing: SimulatedFiring }[] = [];
  const examined = { agents: 0, turns: 0 };
  for (let from = 0; from < selected.length; from += AGENTS_AT_ONCE) {
    if (examined.turns >= MOST_TURNS || performance.now() > until) break;
    const batch = selected.slice(from, from + AGENTS_AT_ONCE);
    const records = await readRecords({ sql, projectId, span }, batch, models);
    const acks = await readAcknowledgements(sql, projectId, [
      ...new Set(batch.map(({ harness }) => harness)),
    ]);
    for (const agent of batch) {
      const { items, levels } = records.get(agent.number)!;
      const timeline = policy.timelineOf(agent.harness, acks.get(agent.harness)!.acks);
      const simulation = new AgentSimulation({
        harness: agent.harness,
        condition: loaded.rule.condition,
        timing: loaded.timing,
        timeline,
        model: agent.model ?? undefined,
      });
      for (const item of items) simulation.add(item);
      const ended = agent.endedAt !== null && agent.endedAt < span.to;
      for (const firing of simulation.end(ended ? agent.endedAt! : span.to, ended))
        if (firing.firedAt >= span.from) firings.push({ agent, firing });
      examined.agents += 1;
      examined.turns += levels;
    }
    await new Promise(setImmediate);
  }
  const isComplete = examined.agents === selected.length && found.length <= MOST_AGENTS;
  return resultOf(firings, examined, isComplete, span);
}

/** A firing that nobody could have done anything about. */
const BRIEF_MS = 60_000;

function resultOf(
  firings: { agent: TestedAgent; firing: SimulatedFiring }[],
  examined: { agents: number; turns: number },
  isComplete: boolean,
  span: Span,
): AlertBacktest {
  const lengthOf = ({ firedAt, endedAt }: SimulatedFiring) => (endedAt ?? span.to) - firedAt;
  const newest = [...firings].sort((one, other) => other.firing.firedAt - one.firing.firedAt);
  return {
    count: firings.length,
    longest_ms: firings.reduce((longest, { firing }) => Math.max(longest, lengthOf(firing)), 0),
    brief: firings.filter(({ firing }) => firing.endedAt !== undefined && lengthOf(firing) <= BRIEF_MS)
      .length,
    examined,
    complete: isComplete,
    firings: newest.slice(0, MOST_FIRINGS).map(({ agent, firing }) => ({
      harness: agent.harness,
      session: agent.session,
      session_id: agent.sessionId,
      agent: agent.name,
      agent_id: agent.id,
      fired_at: iso(firing.firedAt),
      ended_at: firing.endedAt === undefined ? null : iso(firing.endedAt),
      why: firing.why,
      path: `/sessions/${agent.sessionId}?agent=${agent.id}${firing.turnKey === undefined ? "" : `&turn=${firing.turnKey}`}`,
    })),
  };
}

const scopeOf = ({ harness, session, name, model, kind }: TestedAgent) => ({
  harness,
  session,
  agent: name,
  model: model ?? undefined,
  kind: kind ?? undefined,
});

interface AgentItems {
  items: RecordedItem[];
  levels: number;
}

async function readRecords(
  { sql, projectId, span }: Pick<BacktestInput, "sql" | "projectId" | "span">,
  agents: readonly TestedAgent[],
  models: ReadonlyMap<number, string>,
): Promise<Map<number, AgentItems>> {
  const ids = arrayLiteral(agents.map(({ id }) => id));
  const turns = new Map(agents.map(({ number }) => [number, [] as PlacedTurn<TurnRow>[]]));
  const active = agents.map(({ number, harness, turns: all }) => ({
    number,
    harness,
    blocks: Math.ceil(all / 256) + 1,
  }));
  for await (const block of readTurnsBetween(sql, projectId, active, span))
    for (const turn of block) turns.get(turn.agent)?.push({ turn, window: turn.windowIndex, seq: 0 });
  const boundaries = byAgent(await sql.query<StoredBoundary>(BOUNDARIES, projectId, ids, span.from, span.to));
  const crossings = byAgent(await sql.query<StoredCrossing>(CROSSINGS, projectId, ids, span.to));
  return new Map(
    agents.map(({ id, number }) => {
      const placed = turns.get(number)!;
      orderTurns(placed);
      const levels = placed.flatMap(({ turn }) => levelItem(turn, models) ?? []);
      const others = [
        ...(crossings.get(id) ?? []).flatMap(crossingItem),
        ...(boundaries.get(id) ?? []).map(boundaryItem),
      ];
      return [number, { items: merged(levels, others), levels: levels.length }];
    }),
  );
}

function byAgent<Row extends { agent: string }>(rows: readonly Row[]): Map<string, Row[]> {
  const found = new Map<string, Row[]>();
  for (const row of rows) {
    const known = found.get(row.agent);
    if (known === undefined) found.set(row.agent, [row]);
    else known.push(row);
  }
  return found;
}

function levelItem(turn: TurnRow, models: ReadonlyMap<number, string>): RecordedItem | undefined {
  const contextTokens = levelOf(turn);
  if (contextTokens === undefined) return undefined;
  const { at, key, windowIndex, windowTokens, modelId } = turn;
  return {
    type: "level",
    at,
    key,
    window: windowIndex,
    model: models.get(modelId),
    contextTokens,
    windowTokens,
    cache: cacheOf(turn),
  };
}

const crossingItem = ({ threshold, up, at, reportedTokens }: StoredCrossing): RecordedItem[] =>
  isThreshold(threshold)
    ? [{ type: "crossing", threshold, up, at, reportedTokens: reportedTokens ?? undefined }]
    : [];

function boundaryItem({ id, type, at, before, after, detail }: StoredBoundary): RecordedItem {
  const boundary = {
    id,
    type,
    at,
    receivedAt: at,
    tokensBefore: before ?? undefined,
    tokensAfter: after ?? undefined,
    hint: detail.hint,
    number: detail.number,
  };
  return { type: "boundary", boundary };
}

/** By time. What a turn crossed, and the fall that it showed, come before the turn. */
function merged(levels: readonly RecordedItem[], others: RecordedItem[]): RecordedItem[] {
  const atOf = (item: RecordedItem) => (item.type === "boundary" ? item.boundary.at : item.at);
  others.sort((one, other) => atOf(one) - atOf(other));
  const items: RecordedItem[] = [];
  let next = 0;
  for (const level of levels) {
    while (next < others.length && atOf(others[next]!) <= atOf(level)) items.push(others[next++]!);
    items.push(level);
  }
  return [...items, ...others.slice(next)];
}
