import type { Composition, TurnPage, TurnsQuery, TurnView } from "@plimsoll/protocol";
import {
  COMPOSITION_PARTS,
  claimsByWitness,
  normaliseUsage,
  utilizationOf,
  witnessesOf,
} from "@plimsoll/protocol";
import { PlimsollError } from "../errors.ts";
import { unpackFacets } from "../store/codes.ts";
import type { TurnRow } from "../store/turns.ts";
import { iso, type Reader } from "./reader.ts";
import { findSession } from "./session.ts";
import { type AgentTurns, agentBatches, readAgentTurns } from "./session-turns.ts";
import { decodeCursor, encodeCursor, foreignCursor } from "./sessions.ts";
import type { NumberedTurn } from "./turn-order.ts";

/** Where a turn stands on the pages of its session. */
interface Position {
  /** Epoch ms. */
  at: number;
  agentId: string;
  number: number;
}

interface ListedTurn extends NumberedTurn, Position {
  agentName: string;
}

/** Newer turns that a list shows above the turn that it was asked for. */
const TURNS_ABOVE = 20;

/**
 * A session's turns, newest first; numbered from 1 within each agent.
 * @throws PlimsollError `not_found` for an unknown session or turn, `bad_request`
 */
export async function readTurns(reader: Reader, query: TurnsQuery): Promise<TurnPage> {
  await findSession(reader, query.id);
  const { prisma, projectId } = reader;
  const listed =
    query.cursor !== undefined
      ? await newestTurns(reader, query, positionOf(query.cursor))
      : query.turn !== undefined
        ? await turnsFrom(reader, query, query.turn)
        : await newestTurns(reader, query, undefined);
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
        ? encodeCursor(`${last.at}/${last.number}`, last.agentId)
        : null,
  };
}

function positionOf(cursor: string): Position {
  const { value, id } = decodeCursor(cursor);
  const [at = "0", number = "0"] = value.split("/");
  if (!Number.isFinite(Number(at)) || !/^\d{1,9}$/.test(number)) throw foreignCursor();
  return { at: Number(at), agentId: id, number: Number(number) };
}

/** The turns of a page and the one after it. */
async function newestTurns(
  reader: Reader,
  query: TurnsQuery,
  after: Position | undefined,
): Promise<ListedTurn[]> {
  const agents = await reader.prisma.agent.findMany({
    where: {
      projectId: reader.projectId,
      sessionId: query.id,
      turns: { gt: 0 },
      ...(query.agent_id !== undefined && { id: query.agent_id }),
    },
    select: { id: true, name: true, number: true, turns: true, firstAt: true, lastAt: true },
    orderBy: [{ lastAt: "desc" }, { id: "desc" }],
  });
  const candidates = agents.filter(({ firstAt }) => after === undefined || firstAt.getTime() <= after.at);
  let newest: ListedTurn[] = [];
  for (const batch of agentBatches(candidates)) {
    // The latest agents come first: once they are older than a whole page, so are all others.
    const oldest = newest.length > query.limit ? newest.at(-1)!.at : Number.NEGATIVE_INFINITY;
    if (batch[0]!.lastAt.getTime() < oldest) break;
    newest = withNewer(newest, await readAgentTurns(reader, batch), after, query.limit + 1);
  }
  return newest;
}

/** The turns of the page that shows one turn, and the one after it. */
async function turnsFrom(reader: Reader, query: TurnsQuery, key: string): Promise<ListedTurn[]> {
  const { id: sessionId, agent_id: agentId, limit } = query;
  if (agentId === undefined) throw new PlimsollError("bad_request", "turn: send the turn's agent_id too.");
  const agent = await reader.prisma.agent.findFirst({
    where: { projectId: reader.projectId, sessionId, id: agentId },
    select: { id: true, name: true, number: true, turns: true },
  });
  const read = agent === null ? [] : await readAgentTurns(reader, [agent]);
  const listed = read.flatMap(({ agent: { id, name }, turns }) =>
    turns.map((turn) => ({ ...turn, at: turn.turn.at, agentId: id, agentName: name })),
  );
  listed.sort(newestFirst);
  const place = listed.findIndex(({ turn }) => turn.key === key);
  if (place === -1)
    throw new PlimsollError("not_found", `There is no turn ${key} of the agent ${agentId} in this session.`);
  const first = Math.max(0, place - Math.min(TURNS_ABOVE, limit - 1));
  return listed.slice(first, first + limit + 1);
}

/** The newest `most` turns of a page and of some agents. Newest first. */
function withNewer(
  page: readonly ListedTurn[],
  agents: readonly AgentTurns<{ id: string; name: string }>[],
  after: Position | undefined,
  most: number,
): ListedTurn[] {
  let newest = [...page];
  const keepNewest = () => {
    newest = newest.sort(newestFirst).slice(0, most);
    return newest.length < most ? Number.NEGATIVE_INFINITY : newest.at(-1)!.at;
  };
  let oldest = keepNewest();
  for (const { agent, turns } of agents) {
    // From the end, because the turns at the start of a long history are seldom on the page.
    for (let index = turns.length - 1; index >= 0; index--) {
      const turn = turns[index]!;
      const { at } = turn.turn;
      if (at < oldest || (after !== undefined && at > after.at)) continue;
      const listed = { ...turn, at, agentId: agent.id, agentName: agent.name };
      if (after !== undefined && newestFirst(after, listed) >= 0) continue;
      if (newest.push(listed) >= 2 * most) oldest = keepNewest();
    }
  }
  keepNewest();
  return newest;
}

function newestFirst(a: Position, b: Position): number {
  if (a.at !== b.at) return b.at - a.at;
  if (a.agentId !== b.agentId) return a.agentId < b.agentId ? 1 : -1;
  return b.number - a.number;
}

function turnView({ turn, number, change, agentId, agentName }: ListedTurn, model: string): TurnView {
  const facets = unpackFacets(turn.facets);
  const usage = normaliseUsage({
    input_tokens: turn.inputTokens,
    cache_read_tokens: turn.cacheRead,
    cache_write_tokens: turn.cacheWrite,
    output_tokens: turn.outputTokens,
    reasoning_tokens: turn.reasoning,
    basis: facets.basis,
  });
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
    output_tokens: turn.outputTokens ?? null,
    reasoning_tokens: turn.reasoning ?? null,
    basis: usage.basis,
    estimated: facets.estimated,
    compaction: facets.compaction,
    duration_ms: turn.durationMs ?? null,
    cost_usd: turn.costMicros === undefined ? null : turn.costMicros / 1e6,
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
