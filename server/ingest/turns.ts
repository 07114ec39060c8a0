import type { Composition, TurnFacts, TurnReading, Usage } from "@plimsoll/protocol";
import { COMPOSITION_PARTS, normaliseUsage } from "@plimsoll/protocol";
import type { Sql, WriterSql } from "../db/sql.ts";
import { PURPOSE, packFacets, unpackFacets } from "./codes.ts";
import { arrayLiteral, Columns } from "./columns.ts";
import type { ModelNumbers } from "./models.ts";
import type { TurnShare } from "./rollup.ts";
import { violatesKey } from "./violations.ts";

type Models = Pick<ModelNumbers, "learn" | "name">;

/** A turn as the database keeps it: what was said, and how the fold read it. */
export interface TurnRow {
  projectId: number;
  agentId: string;
  modelId: number;
  facts: TurnFacts;
  reading: Omit<TurnReading, "turn">;
}

const COLUMNS = new Columns<TurnRow>([
  ["project_id", "int4", (row) => row.projectId],
  ["agent_id", "uuid", (row) => row.agentId],
  ["key", "int8", (row) => row.facts.key],
  ["at_ms", "float8", (row) => row.facts.at],
  ["model_id", "int4", (row) => row.modelId],
  ["window_index", "int4", (row) => row.reading.window],
  ["window_tokens", "int4", (row) => row.reading.windowTokens],
  ["context_tokens", "int4", (row) => row.reading.contextTokens],
  ["input_tokens", "int4", (row) => row.facts.usage.input_tokens],
  ["cache_read", "int4", (row) => row.facts.usage.cache_read_tokens],
  ["cache_write", "int4", (row) => row.facts.usage.cache_write_tokens],
  ["output_tokens", "int4", (row) => row.facts.usage.output_tokens],
  ["reasoning", "int4", (row) => row.facts.usage.reasoning_tokens],
  ["seq", "int4", (row) => row.facts.seq],
  ["sent_window", "int4", (row) => row.facts.sentWindow],
  ["sent_limit", "int4", (row) => row.facts.sentLimit],
  ["duration_ms", "int4", (row) => row.facts.durationMs],
  ["cost_micros", "int4", (row) => costMicros(row.facts)],
  ["purpose", "int2", (row) => (row.facts.compaction ? PURPOSE.compaction : PURPOSE.inference)],
  ["facets", "int2", facetsOf],
  ["composition", "text", (row) => compositionLiteral(row.facts.composition)],
]);
const KEY_COLUMNS = new Set(["project_id", "agent_id", "key"]);

const VALUES = COLUMNS.names
  .map((name) =>
    name === "at_ms" ? "to_timestamp(at_ms / 1000)" : name === "composition" ? "composition::int4[]" : name,
  )
  .join(", ");
const TARGETS = COLUMNS.names.map((name) => (name === "at_ms" ? "at" : name)).join(", ");
const RECEIVED = `to_timestamp($${COLUMNS.count + 1}::float8 / 1000)`;

const INSERT = `
INSERT INTO turns (${TARGETS}, received_at) SELECT ${VALUES}, ${RECEIVED} FROM (${COLUMNS.select}) input`;

const INSERT_AND_TELL = `
WITH input AS (${COLUMNS.select}), written AS (
  INSERT INTO turns (${TARGETS}, received_at) SELECT ${VALUES}, ${RECEIVED} FROM input
  ON CONFLICT DO NOTHING RETURNING project_id, agent_id, key
)
SELECT input.ord::int4 AS ord FROM input LEFT JOIN written USING (project_id, agent_id, key)
WHERE written.key IS NULL`;

const UPDATE = `
WITH input AS (${COLUMNS.select})
UPDATE turns SET ${COLUMNS.names
  .filter((name) => !KEY_COLUMNS.has(name))
  .map((name) =>
    name === "at_ms"
      ? "at = to_timestamp(input.at_ms / 1000)"
      : name === "composition"
        ? "composition = input.composition::int4[]"
        : `${name} = input.${name}`,
  )
  .join(", ")}
FROM input
WHERE turns.project_id = input.project_id AND turns.agent_id = input.agent_id AND turns.key = input.key`;

/**
 * Inserts turns that stand after all that is known of their agents, so that they are new; looking first whether each is
 * there would cost a fifth of the database's time for a batch. See `isTurnRepeated` for one that was sent again with
 * another time.
 */
export function insertNewTurns(sql: WriterSql, rows: readonly TurnRow[], receivedAt: number): void {
  if (rows.length > 0) sql.send(INSERT, ...COLUMNS.parameters(rows), receivedAt);
}

/** Whether a transaction failed because a turn that `insertNewTurns` was given is stored already. */
export function isTurnRepeated(error: unknown): boolean {
  return violatesKey(error, "turns_pkey");
}

/** Inserts turns and returns the positions of those that were there already. */
export async function insertTurns(sql: Sql, rows: readonly TurnRow[], receivedAt: number): Promise<number[]> {
  if (rows.length === 0) return [];
  const known = await sql.query<{ ord: number }>(INSERT_AND_TELL, ...COLUMNS.parameters(rows), receivedAt);
  return known.map(({ ord }) => ord - 1);
}

export function updateTurns(sql: WriterSql, rows: readonly TurnRow[]): void {
  if (rows.length > 0) sql.send(UPDATE, ...COLUMNS.parameters(rows));
}

function facetsOf({ facts, reading }: TurnRow): number {
  return packFacets({
    basis: facts.usage.basis,
    windowSource: reading.windowSource,
    estimated: facts.estimated,
  });
}

function costMicros(facts: TurnFacts): number | undefined {
  return facts.costUsd === undefined ? undefined : Math.round(facts.costUsd * 1e6);
}

function compositionLiteral(composition: Composition | undefined): string | undefined {
  if (composition === undefined) return undefined;
  return `{${COMPOSITION_PARTS.map((part) => composition[part] ?? "NULL").join(",")}}`;
}

interface StoredTurn {
  project_id: number;
  agent_id: string;
  key: bigint | string;
  at: Date;
  model_id: number;
  window_index: number;
  window_tokens: number | null;
  context_tokens: number | null;
  input_tokens: number | null;
  cache_read: number | null;
  cache_write: number | null;
  output_tokens: number | null;
  reasoning: number | null;
  seq: number | null;
  sent_window: number | null;
  sent_limit: number | null;
  duration_ms: number | null;
  cost_micros: number | null;
  purpose: number;
  facets: number;
  composition: (number | null)[] | null;
}

const SELECTED = `SELECT project_id, agent_id, key, at, model_id, window_index, window_tokens, context_tokens,
  input_tokens, cache_read, cache_write, output_tokens, reasoning, seq, sent_window, sent_limit, duration_ms,
  cost_micros, purpose, facets, composition FROM turns`;

/** Every stored turn of one agent. */
export async function readAgentTurns(
  sql: Sql,
  agent: { projectId: number; id: string },
  models: Models,
): Promise<TurnRow[]> {
  const stored = await sql.query<StoredTurn>(
    `${SELECTED} WHERE project_id = $1 AND agent_id = $2::uuid`,
    agent.projectId,
    agent.id,
  );
  return turnRows(stored, models);
}

/** The stored turns with these keys. */
export async function readTurns(sql: Sql, rows: readonly TurnRow[], models: Models): Promise<TurnRow[]> {
  if (rows.length === 0) return [];
  const stored = await sql.query<StoredTurn>(
    `${SELECTED} WHERE (project_id, agent_id, key) IN
      (SELECT * FROM unnest($1::int4[], $2::uuid[], $3::int8[]))`,
    arrayLiteral(rows.map((row) => row.projectId)),
    arrayLiteral(rows.map((row) => row.agentId)),
    arrayLiteral(rows.map((row) => row.facts.key)),
  );
  return turnRows(stored, models);
}

async function turnRows(stored: readonly StoredTurn[], models: Models): Promise<TurnRow[]> {
  await models.learn(stored.map((row) => [row.project_id, row.model_id]));
  return stored.map((row) => turnRow(row, models.name));
}

function turnRow(row: StoredTurn, modelName: (projectId: number, modelId: number) => string): TurnRow {
  const facets = unpackFacets(row.facets);
  const usage: Usage = {
    input_tokens: row.input_tokens ?? undefined,
    cache_read_tokens: row.cache_read ?? undefined,
    cache_write_tokens: row.cache_write ?? undefined,
    output_tokens: row.output_tokens ?? undefined,
    reasoning_tokens: row.reasoning ?? undefined,
    basis: facets.basis,
  };
  const contextTokens = row.context_tokens ?? undefined;
  const windowTokens = row.window_tokens ?? undefined;
  return {
    projectId: row.project_id,
    agentId: row.agent_id,
    modelId: row.model_id,
    facts: {
      key: row.key.toString(),
      at: row.at.getTime(),
      model: modelName(row.project_id, row.model_id),
      usage,
      seq: row.seq ?? undefined,
      sentWindow: row.sent_window ?? undefined,
      sentLimit: row.sent_limit ?? undefined,
      estimated: facets.estimated,
      compaction: row.purpose === PURPOSE.compaction,
      composition: compositionOf(row.composition),
      durationMs: row.duration_ms ?? undefined,
      costUsd: row.cost_micros === null ? undefined : row.cost_micros / 1e6,
    },
    reading: {
      window: row.window_index,
      contextTokens,
      windowTokens,
      windowSource: facets.windowSource,
      utilization:
        contextTokens === undefined || windowTokens === undefined ? undefined : contextTokens / windowTokens,
    },
  };
}

function compositionOf(parts: (number | null)[] | null): Composition | undefined {
  if (parts === null || parts.length === 0) return undefined;
  return Object.fromEntries(
    COMPOSITION_PARTS.map((part, index) => [part, parts[index] ?? undefined]),
  ) as Composition;
}

export function sameRow(a: TurnRow, b: TurnRow): boolean {
  return (
    a.reading.window === b.reading.window &&
    a.reading.windowTokens === b.reading.windowTokens &&
    a.reading.windowSource === b.reading.windowSource &&
    a.reading.contextTokens === b.reading.contextTokens
  );
}

/** What a turn adds to the rollups. */
export function shareOf(row: TurnRow, harness: string): TurnShare {
  const { facts, reading } = row;
  const usage = normaliseUsage(facts.usage);
  const level = facts.compaction ? undefined : reading.contextTokens;
  return {
    projectId: row.projectId,
    at: facts.at,
    harness,
    model: facts.model,
    fresh: usage.fresh ?? 0,
    cacheRead: usage.cacheRead ?? 0,
    cacheWrite: usage.cacheWrite ?? 0,
    output: usage.output ?? 0,
    costMicros: costMicros(facts) ?? 0,
    level,
    utilization: level === undefined ? undefined : reading.utilization,
    missing: reading.contextTokens === undefined,
  };
}
