import {
  claimsByWitness,
  hourWrite,
  listPrice,
  normaliseUsage,
  utilizationOf,
  witnessesOf,
} from "@plimsoll/fold";
import type { TurnPage, TurnsQuery, TurnView } from "@plimsoll/protocol/api";
import { COMPOSITION_PARTS, type Composition } from "@plimsoll/protocol/events";
import { unpackFacets, unpackRebuild } from "../db/tables/codes.ts";
import { sentUsage, type TurnRow } from "../db/tables/turns.ts";
import { PlimsollError } from "../errors.ts";
import type { Reader } from "../lines/reader.ts";
import { iso } from "../times.ts";
import { findSession } from "./session.ts";
import { findTurn, type ListedTurn, type Position, readNewestTurns } from "./session-turns.ts";
import { decodeCursor, encodeCursor, foreignCursor } from "./sessions.ts";

/** Newer turns that a list shows above the turn that it was asked for. */
const TURNS_ABOVE = 20;

/**
 * A session's turns, newest first; numbered from 1 within each agent.
 * @throws PlimsollError `not_found` for an unknown session or turn, `bad_request`
 */
export async function readTurns(reader: Reader, query: TurnsQuery): Promise<TurnPage> {
  await findSession(reader, query.id);
  const { prisma, projectId } = reader;
  const after =
    query.cursor !== undefined
      ? positionOf(query.cursor)
      : query.turn !== undefined
        ? await positionAbove(reader, query, query.turn)
        : undefined;
  const list = { sessionId: query.id, agentId: query.agent_id };
  const listed = await readNewestTurns(reader, list, after, query.limit + 1);
  const models = await prisma.model.findMany({
    where: { projectId, id: { in: [...new Set(listed.map(({ turn }) => turn.modelId))] } },
  });
  const names = new Map(models.map(({ id, name }) => [id, name]));
  const page = listed.slice(0, query.limit);
  const last = page.at(-1);
  return {
    items: page.map((turn) => turnView(turn, names.get(turn.turn.modelId) ?? "?")),
    next_cursor:
      listed.length > query.limit && last !== undefined
        ? encodeCursor(`${last.at}/${last.number}/${last.turn.key}`, last.agentId)
        : null,
  };
}

function positionOf(cursor: string): Position {
  const { value, id } = decodeCursor(cursor);
  const [at = "", number = "", key] = value.split("/");
  // PostgreSQL has no time of more digits.
  if (!/^-?\d{1,14}$/.test(at) || !/^\d{1,9}$/.test(number)) throw foreignCursor();
  return { at: Number(at), agentId: id, number: Number(number), key };
}

/** The position before the page that shows a turn. */
async function positionAbove(reader: Reader, query: TurnsQuery, key: string): Promise<Position> {
  const { id: sessionId, agent_id: agentId, limit } = query;
  if (agentId === undefined) throw new PlimsollError("bad_request", "turn: send the turn's agent_id too.");
  const agent = await reader.prisma.agent.findFirst({
    where: { projectId: reader.projectId, sessionId, id: agentId },
    select: { id: true, name: true, number: true },
  });
  const found = agent && (await findTurn(reader, agent, key, Math.min(TURNS_ABOVE, limit - 1)));
  const first = found?.[0];
  if (first === undefined)
    throw new PlimsollError("not_found", `There is no turn ${key} of the agent ${agentId} in this session.`);
  return { at: first.at, agentId, number: first.number + 1 };
}

function turnView({ turn, number, change, agentId, agentName }: ListedTurn, model: string): TurnView {
  const facets = unpackFacets(turn.facets);
  const rebuild = turn.rebuild === undefined ? undefined : unpackRebuild(turn.rebuild);
  const sent = sentUsage(turn);
  const usage = normaliseUsage(sent);
  const hour = hourWrite(sent);
  return {
    key: turn.key,
    number,
    agent_id: agentId,
    agent: agentName,
    at: iso(turn.at),
    received_at: iso(turn.at + turn.delay * 1_000),
    model,
    window: turn.windowIndex,
    context_tokens: turn.contextTokens ?? null,
    window_tokens: turn.windowTokens ?? null,
    window_source: facets.windowSource,
    utilization: utilizationOf(turn.contextTokens, turn.windowTokens) ?? null,
    change: change ?? null,
    fresh_tokens: usage.fresh ?? null,
    cache_read_tokens: turn.cacheRead ?? null,
    cache_write_tokens: turn.cacheWrite ?? null,
    cache_write_1h_tokens: hour ?? null,
    cache_rebuilt_tokens: rebuild?.tokens ?? null,
    cache_rebuild_cause: rebuild?.cause ?? null,
    output_tokens: turn.outputTokens ?? null,
    reasoning_tokens: turn.reasoning ?? null,
    basis: usage.basis,
    estimated: facets.estimated,
    compaction: facets.compaction,
    duration_ms: turn.durationMs ?? null,
    cost_usd: turn.costMicros === undefined ? null : turn.costMicros / 1e6,
    estimated_cost_usd: turn.costMicros === undefined ? (listPrice(model, usage, hour) ?? null) : null,
    composition: compositionView(turn.composition),
    composition_estimated: facets.compositionEstimated,
    sources: witnessesOf(turn.provenance ?? 0),
    window_claims: claimsOf(turn),
  };
}

function claimsOf({ provenance, sentLimit, limitClaims }: TurnRow): TurnView["window_claims"] {
  return claimsByWitness({ provenance: provenance ?? 0, sentLimit, limitClaims }).map(
    ({ witness, tokens }) => ({ source: witness, tokens }),
  );
}

export function compositionView(parts: TurnRow["composition"]): TurnView["composition"] {
  if (parts === undefined || parts.length === 0) return null;
  const view = {} as Record<keyof Composition, number | null>;
  for (const [index, part] of COMPOSITION_PARTS.entries()) view[part] = parts[index] ?? null;
  return view;
}
