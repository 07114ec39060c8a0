import { queriesOf } from "../db/sql.ts";
import { arrayLiteral } from "../db/tables/binary-arrays.ts";
import { type AskedRun, cutAfter, readTurnRuns, type TurnRun } from "../db/tables/read-turns.ts";
import { findBlocks, turnBlocks, unpackBlock } from "../db/tables/turn-blocks.ts";
import { type NumberedTurn, numberTurns } from "../db/tables/turn-order.ts";
import { countedTurns } from "../db/tables/turns.ts";
import type { Reader } from "../lines/reader.ts";

/** Where a turn is in the list of its session: by time, then by agent, then by number. */
export interface Position {
  /** Epoch ms. */
  at: number;
  agentId: string;
  number: number;
  /** Of the turn, if known. It finds the turn again after others have changed its number. */
  key?: string | undefined;
}

export interface ListedTurn extends NumberedTurn, Position {
  agentName: string;
}

export interface TurnList {
  sessionId: string;
  /** One agent of the session; all of them if undefined. */
  agentId: string | undefined;
}

interface ListedAgent {
  id: string;
  name: string;
  /** `agents.number`. */
  number: number;
  turns: number;
  /** Epoch ms. */
  lastAt: number;
}

/** An agent whose turns up to a time are not read yet. */
interface UnreadAgent extends ListedAgent {
  /** Epoch ms; infinite if nothing is known of it. */
  until: number;
}

type RunReader = Pick<Reader, "prisma" | "projectId">;

/** Agents that the first statement lists. */
const AGENTS_AT_ONCE = 500;
/** Turns that one statement reads, unless a segment has more. */
const TURNS_AT_ONCE = 20_000;
/** Turns of most segments. */
const SEGMENT_TURNS = 256;

const AGENTS = `
SELECT a.id::text, a.name, a.number, a.turns, (extract(epoch FROM a.last_at) * 1000)::float8 AS "lastAt" FROM agents a
WHERE a.project_id = $1 AND a.session_id = $2::uuid AND a.turns > 0 AND ($3::uuid IS NULL OR a.id = $3::uuid)
  AND a.first_at <= to_timestamp($4::float8 / 1000) AND a.number <> ALL ($5::int4[])
ORDER BY a.last_at DESC, a.id DESC LIMIT $6`;

/**
 * The newest turns of a session after a position, newest first. Reads the segments that hold them and, of each other agent
 * that was active at their time, one segment.
 */
export async function readNewestTurns(
  reader: RunReader,
  list: TurnList,
  after: Position | undefined,
  most: number,
): Promise<ListedTurn[]> {
  const agents = new UnreadAgents(reader, list, after?.at ?? Number.POSITIVE_INFINITY);
  let newest: ListedTurn[] = [];
  for (let wanted = Math.max(most, SEGMENT_TURNS); ; wanted *= 2) {
    const last = newest.length < most ? undefined : newest.at(-1);
    const picked = await agents.pick(last, Math.min(wanted, TURNS_AT_ONCE));
    if (picked.length === 0) return newest;
    const runs = await readTurnRuns(queriesOf(reader), reader.projectId, askedRuns(picked, wanted));
    const byNumber = new Map(picked.map((agent) => [agent.number, agent]));
    agents.take(picked);
    for (const run of runs) {
      const agent = byNumber.get(run.agent)!;
      for (const turn of listedTurns(run, agent, after)) newest.push(turn);
      if (run.since > Number.NEGATIVE_INFINITY) agents.add([{ ...agent, until: run.since }]);
    }
    newest = newest.sort(newestFirst).slice(0, most);
  }
}

function askedRuns(picked: readonly UnreadAgent[], wanted: number): AskedRun[] {
  const segments = Math.ceil(Math.min(wanted, TURNS_AT_ONCE) / SEGMENT_TURNS / picked.length);
  // The time is mostly in the middle of a segment.
  const more = picked.length === 1 ? 1 : 0;
  return picked.map(({ number, until }) => ({ agent: number, until, segments: segments + more }));
}

function listedTurns(run: TurnRun, agent: UnreadAgent, after: Position | undefined): ListedTurn[] {
  const { id: agentId, name: agentName, until } = agent;
  const numbered = numberTurns(run.turns, run);
  let from = after;
  if (after !== undefined && after.agentId === agentId) {
    // Other turns may have changed its number since.
    const same = numbered.find(({ turn }) => turn.key === after.key && turn.at === after.at);
    if (same !== undefined) from = { at: after.at, agentId, number: same.number };
  }
  const listed: ListedTurn[] = [];
  for (const { turn, number, change } of numbered) {
    if (turn.at > until) continue;
    // Field by field: spreading each turn took a fifth of an export.
    const one = { turn, number, change, at: turn.at, key: turn.key, agentId, agentName };
    if (from === undefined || newestFirst(from, one) < 0) listed.push(one);
  }
  return listed;
}

export function newestFirst(a: Position, b: Position): number {
  if (a.at !== b.at) return b.at - a.at;
  if (a.agentId !== b.agentId) return a.agentId < b.agentId ? 1 : -1;
  return b.number - a.number;
}

/** The agents of a session that may have turns on a page, listed as far as the page needs. */
class UnreadAgents {
  readonly #reader: RunReader;
  readonly #list: TurnList;
  /** No turn of the page is later. */
  readonly #from: number;
  readonly #listed: number[] = [];
  #unread: UnreadAgent[] = [];
  #sorted = true;
  /** The latest time at which an agent that is not listed yet may have a turn. */
  #unlistedAt: number;

  constructor(reader: RunReader, list: TurnList, from: number) {
    this.#reader = reader;
    this.#list = list;
    this.#from = from;
    this.#unlistedAt = from;
  }

  /**
   * The agents to read next, for a number of turns. None if no turn that is not read yet is before `last`.
   */
  async pick(last: Position | undefined, wanted: number): Promise<UnreadAgent[]> {
    for (;;) {
      if (!this.#sorted) this.#unread.sort((a, b) => newestFirst(positionAfter(a), positionAfter(b)));
      this.#sorted = true;
      const [next] = this.#unread;
      const nextAt = next === undefined ? Number.NEGATIVE_INFINITY : latestOf(next);
      const listsMore = this.#unlistedAt > Number.NEGATIVE_INFINITY && nextAt <= this.#unlistedAt;
      if (listsMore && (last === undefined || last.at <= this.#unlistedAt)) {
        await this.#listMore();
        continue;
      }
      const picked: UnreadAgent[] = [];
      let turns = 0;
      for (const agent of this.#unread) {
        if (turns >= wanted || (last !== undefined && newestFirst(last, positionAfter(agent)) < 0)) break;
        // Others may be later than this one.
        if (latestOf(agent) < this.#unlistedAt) break;
        picked.push(agent);
        turns += Math.min(agent.turns, SEGMENT_TURNS);
      }
      return picked;
    }
  }

  /** Takes out agents that are being read. */
  take(picked: readonly UnreadAgent[]): void {
    const gone = new Set(picked);
    this.#unread = this.#unread.filter((agent) => !gone.has(agent));
  }

  add(agents: readonly UnreadAgent[]): void {
    for (const agent of agents) this.#unread.push(agent);
    this.#sorted = false;
  }

  async #listMore(): Promise<void> {
    const { sessionId, agentId } = this.#list;
    const most = Math.max(AGENTS_AT_ONCE, 4 * this.#listed.length);
    // Without those that are listed, instead of those that were active before: an agent may have become active meanwhile.
    const found = await queriesOf(this.#reader).query<ListedAgent>(
      AGENTS,
      this.#reader.projectId,
      sessionId,
      agentId ?? null,
      String(this.#from),
      arrayLiteral(this.#listed),
      most,
    );
    for (const { number } of found) this.#listed.push(number);
    const last = found.length < most ? undefined : found.at(-1);
    this.#unlistedAt = last === undefined ? Number.NEGATIVE_INFINITY : Math.min(this.#from, last.lastAt);
    this.add(found.map((agent) => ({ ...agent, until: this.#from })));
  }
}

const latestOf = ({ until, lastAt }: UnreadAgent) => Math.min(until, lastAt);

/** A position before all turns of an agent that are not read yet. */
function positionAfter(agent: UnreadAgent): Position {
  return { at: latestOf(agent), agentId: agent.id, number: Number.POSITIVE_INFINITY };
}

/**
 * A turn of an agent and the turns above it in the list of the agent. Undefined if the agent has no such turn.
 * Finds the turn by reading the keys of the agent: 8 bytes a turn.
 * @param above turns at most
 */
export async function findTurn(
  reader: RunReader,
  agent: { id: string; name: string; number: number },
  key: string,
  above: number,
): Promise<ListedTurn[] | undefined> {
  if (BigInt.asIntN(64, BigInt(key)) !== BigInt(key)) return undefined;
  const sql = queriesOf(reader);
  const { text, values } = findBlocks(reader.projectId, [{ agent: agent.number, key, at: 0 }], "anywhere");
  const found = await sql.query<Record<string, unknown>>(text, ...values);
  const turn = found
    .flatMap((row) => countedTurns(unpackBlock(turnBlocks.parse(row)).rows))
    .find((row) => row.key === key);
  if (turn === undefined) return undefined;
  const unread = { ...agent, turns: 0, lastAt: 0, until: Number.POSITIVE_INFINITY };
  for (let cuts = 1; ; cuts *= 2) {
    const until = await cutAfter(sql, reader.projectId, { agent: agent.number, at: turn.at, skip: cuts });
    const asked = { agent: agent.number, until, segments: cuts + 1 };
    const [run] = await readTurnRuns(sql, reader.projectId, [asked]);
    const listed = listedTurns(run!, unread, undefined).sort(newestFirst);
    const place = listed.findIndex((one) => one.key === key);
    if (place === -1) return undefined;
    if (place >= above || until === Number.POSITIVE_INFINITY)
      return listed.slice(Math.max(0, place - above), place + 1);
  }
}
