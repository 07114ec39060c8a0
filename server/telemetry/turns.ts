import type { Composition, TurnPage, TurnsQuery, TurnView } from "@plimsoll/protocol";
import { COMPOSITION_PARTS, normaliseUsage, utilizationOf } from "@plimsoll/protocol";
import { Prisma } from "../db/client.ts";
import { unpackFacets } from "../store/codes.ts";
import { IS_LEVEL } from "../store/turns.ts";
import { iso, type Reader } from "./reader.ts";
import { findSession } from "./session.ts";
import { decodeCursor, encodeCursor, foreignCursor } from "./sessions.ts";

/**
 * The sequence number that orders a turn `t` in its window. A turn without one takes the highest that the window has
 * reached by its time, as in the protocol's timeline.
 */
export const TURN_PLACE = Prisma.sql`COALESCE(t.seq, max(t.seq) OVER (PARTITION BY t.agent, t.window_index ORDER BY t.at), -1)`;

/** Turns `t` of an agent in order: by window, sequence and time; the key breaks ties. `place` is `TURN_PLACE`. */
export const TURN_ORDER = Prisma.sql`t.window_index, t.place, t.at, t.key::text COLLATE "C"`;

interface Row {
  number: number;
  agent_id: string;
  agent_name: string;
  at: Date;
  delay: number;
  model: string;
  window_index: number;
  window_tokens: number | null;
  context_tokens: number | null;
  change: number | null;
  input_tokens: number | null;
  cache_read: number | null;
  cache_write: number | null;
  output_tokens: number | null;
  reasoning: number | null;
  duration_ms: number | null;
  cost_micros: number | null;
  facets: number;
  composition: (number | null)[] | null;
}

/** A session's turns, newest first; numbered from 1 within each agent. */
export async function readTurns(reader: Reader, query: TurnsQuery): Promise<TurnPage> {
  await findSession(reader, query.id);
  const after = query.cursor === undefined ? undefined : decodeCursor(query.cursor);
  const [at = "0", number = "0"] = after?.value.split("/") ?? [];
  if (!Number.isFinite(Number(at)) || !/^\d{1,9}$/.test(number)) throw foreignCursor();
  const past =
    after === undefined
      ? Prisma.empty
      : Prisma.sql`WHERE (n.at_ms, n.agent_id, n.number) < (${Number(at)}::float8, ${after.id}::uuid, ${Number(number)}::int4)`;
  const rows = await reader.prisma.$queryRaw<(Row & { at_ms: number })[]>`
    ${numberedTurns(reader, query)}
    SELECT n.*, c.change FROM numbered n
    LEFT JOIN changes c ON c.agent_id = n.agent_id AND c.key = n.key ${past}
    ORDER BY at_ms DESC, agent_id DESC, number DESC LIMIT ${query.limit + 1}`;
  const page = rows.slice(0, query.limit);
  const last = page.at(-1);
  return {
    items: page.map(turnView),
    next_cursor:
      rows.length > query.limit && last !== undefined
        ? encodeCursor(`${last.at_ms}/${last.number}`, last.agent_id)
        : null,
  };
}

/** `numbered`: the turns with their place; `changes`: each counted level against the one before it. */
function numberedTurns(
  { projectId }: Reader,
  { id, agent_id }: Pick<TurnsQuery, "id" | "agent_id">,
): Prisma.Sql {
  const one = agent_id === undefined ? Prisma.empty : Prisma.sql`AND a.id = ${agent_id}::uuid`;
  return Prisma.sql`WITH placed AS (
      SELECT t.*, ${TURN_PLACE} AS place, a.id AS agent_id, a.name AS agent_name, m.name AS model,
        extract(epoch FROM t.at)::float8 * 1000 AS at_ms
      FROM agents a JOIN turns t ON t.project_id = ${projectId} AND t.agent = a.number
      JOIN models m ON m.project_id = ${projectId} AND m.id = t.model_id
      WHERE a.project_id = ${projectId} AND a.session_id = ${id}::uuid ${one}
    ), numbered AS (
      SELECT t.*, (row_number() OVER (PARTITION BY t.agent ORDER BY ${TURN_ORDER}))::int4 AS number FROM placed t
    ), changes AS (
      SELECT t.agent_id, t.key,
        t.context_tokens - lag(t.context_tokens) OVER (PARTITION BY t.agent_id ORDER BY t.number) AS change
      FROM numbered t WHERE t.context_tokens IS NOT NULL AND ${Prisma.raw(IS_LEVEL)}
    )`;
}

function turnView(row: Row): TurnView {
  const facets = unpackFacets(row.facets);
  const usage = normaliseUsage({
    input_tokens: row.input_tokens ?? undefined,
    cache_read_tokens: row.cache_read ?? undefined,
    cache_write_tokens: row.cache_write ?? undefined,
    output_tokens: row.output_tokens ?? undefined,
    reasoning_tokens: row.reasoning ?? undefined,
    basis: facets.basis,
  });
  return {
    number: row.number,
    agent_id: row.agent_id,
    agent: row.agent_name,
    at: iso(row.at),
    received_at: iso(row.at.getTime() + row.delay * 1_000),
    model: row.model,
    window: row.window_index,
    context_tokens: row.context_tokens,
    window_tokens: row.window_tokens,
    window_source: facets.windowSource,
    utilization: utilizationOf(row.context_tokens ?? undefined, row.window_tokens ?? undefined) ?? null,
    change: row.change,
    fresh_tokens: usage.fresh ?? null,
    cache_read_tokens: row.cache_read,
    cache_write_tokens: row.cache_write,
    output_tokens: row.output_tokens,
    reasoning_tokens: row.reasoning,
    basis: usage.basis,
    estimated: facets.estimated,
    compaction: facets.compaction,
    duration_ms: row.duration_ms,
    cost_usd: row.cost_micros === null ? null : row.cost_micros / 1e6,
    composition: compositionView(row.composition),
  };
}

export function compositionView(parts: (number | null)[] | null): TurnView["composition"] {
  if (parts === null || parts.length === 0) return null;
  const view = {} as Record<keyof Composition, number | null>;
  for (const [index, part] of COMPOSITION_PARTS.entries()) view[part] = parts[index] ?? null;
  return view;
}
