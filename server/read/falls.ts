import {
  type FallFacts,
  type FallSequel,
  type FallWorth,
  fallWorth,
  lostWork,
  MOST_SESSIONS,
  median,
  NO_FALL,
  type RepeatedWork,
  reclaimedTokens,
  thrashes,
} from "@plimsoll/fold";
import type { FallSums, Falls, FallsQuery, FallView, LostWorkView } from "@plimsoll/protocol/api";
import { type BoundaryType, DEFAULT_AGENT } from "@plimsoll/protocol/events";
import { Prisma } from "../db/client.ts";
import { unpackWork } from "../db/tables/agent-outcomes.ts";
import { unpackStored } from "../db/tables/packed-state.ts";
import type { FreshReader, Reader } from "../lines/reader.ts";
import { iso, spanOf } from "../times.ts";

const MOST_FALLS = 20_000;
const MOST_ROWS = 12;
const WORST = 8;
const MOST_OF_SESSION = 100;
/** Agents whose latest fall is followed up to now; that of others counts as followed by no turn. */
const MOST_AGENTS = 2_000;
/** Where a group of levels begins, tokens. */
const LEVELS = [0, 50_000, 100_000, 150_000, 200_000, 400_000] as const;

interface StoredFall {
  id: string;
  type: BoundaryType;
  at: Date;
  before: number | null;
  after: number | null;
  fall: FallFacts;
  /** What the next fall says of this one. */
  next: FallFacts | null;
  agent_id: string;
  agent: string | null;
  session_id: string;
  session: string;
  harness: string;
  ended: boolean;
}

interface JudgedFall {
  stored: StoredFall;
  sequel: FallSequel;
  worth: FallWorth;
  thrash: boolean;
}

/** What the falls of a range were worth, over all and one by one. */
export async function readFalls(reader: FreshReader, query: FallsQuery): Promise<Falls> {
  const span = spanOf(query);
  const stored = await readStored(reader, query);
  const complete = stored.length <= MOST_FALLS;
  const falls = await judge(reader, stored.slice(0, MOST_FALLS));
  const listed =
    query.session === undefined
      ? falls
          .filter((fall) => lossOf(fall) > 0)
          .sort((a, b) => lossOf(b) - lossOf(a))
          .slice(0, WORST)
      : falls.slice(0, MOST_OF_SESSION);
  return {
    range: { from: iso(span.from), to: iso(span.to) },
    complete,
    total: sumsOf(falls),
    rows: grouped(
      falls,
      ({ stored: { harness, fall, type } }) => `${harness}\u0000${fall.model}\u0000${type}`,
    )
      .sort((a, b) => b.length - a.length)
      .slice(0, MOST_ROWS)
      .map((group) => {
        const { harness, fall, type } = group[0]!.stored;
        return { harness, model: fall.model, type, ...sumsOf(group) };
      }),
    levels: grouped(
      falls.filter(({ stored }) => stored.before !== null),
      ({ stored }) => String(levelOf(stored.before!)),
    )
      .map((group) => {
        const from = levelOf(group[0]!.stored.before!);
        return { from_tokens: from, to_tokens: LEVELS.find((next) => next > from) ?? null, ...sumsOf(group) };
      })
      .sort((a, b) => a.from_tokens - b.from_tokens),
    falls: listed.map(viewOf),
    work: query.session === undefined ? await readLostWork(reader, query) : null,
  };
}

/** What was fetched again after the falls of the sessions that were active in a range. */
async function readLostWork(reader: Reader, query: FallsQuery): Promise<LostWorkView | null> {
  const { from, to } = spanOf(query);
  const { projectId } = reader;
  const ofHarness = query.harness === undefined ? Prisma.empty : Prisma.sql`AND s.harness = ${query.harness}`;
  const rows = await reader.prisma.$queryRaw<{ work: Uint8Array; session: string }[]>`
    SELECT o.work, a.session_id::text AS session FROM agent_outcomes o
    JOIN agents a ON a.project_id = ${projectId} AND a.number = o.agent AND a.first_at < ${new Date(to)}
    JOIN sessions s ON s.project_id = ${projectId} AND s.id = a.session_id AND s.deleted_at IS NULL ${ofHarness}
    WHERE o.project_id = ${projectId} AND o.last_at >= ${new Date(from)} AND length(o.work) > 1
    ORDER BY o.last_at DESC, o.agent DESC LIMIT ${MOST_FALLS}`;
  const sessions = new Map<string, RepeatedWork[]>();
  for (const { work, session } of rows) {
    const known = sessions.get(session);
    if (known === undefined) sessions.set(session, unpackWork(work));
    else known.push(...unpackWork(work));
  }
  const lost = lostWork([...sessions.values()].slice(0, MOST_SESSIONS));
  if (lost === undefined) return null;
  const { usualChange, ...rest } = lost;
  return { ...rest, usual_change: usualChange };
}

/** The latest falls of a range, newest first, each with what the next one of its agent says of it. */
function readStored(reader: Reader, query: FallsQuery): Promise<StoredFall[]> {
  const { from, to } = spanOf(query);
  const { projectId } = reader;
  const ofHarness = query.harness === undefined ? Prisma.empty : Prisma.sql`AND s.harness = ${query.harness}`;
  const ofSession =
    query.session === undefined ? Prisma.empty : Prisma.sql`AND b.session_id = ${query.session}::uuid`;
  return reader.prisma.$queryRaw<StoredFall[]>`
    SELECT b.id, b.type, b.at, b.tokens_before AS before, b.tokens_after AS after, b.fall, b.next, a.id::text AS agent_id,
      CASE WHEN a.id = s.main_agent OR a.name = ${DEFAULT_AGENT} THEN NULL ELSE a.name END AS agent,
      s.id::text AS session_id, COALESCE(s.title, s.name) AS session, s.harness,
      (s.ended_at IS NOT NULL AND s.last_at <= s.ended_at) AS ended
    FROM (
      SELECT b.*, lead(b.fall) OVER (PARTITION BY b.agent_id ORDER BY b.at, b.id) AS next FROM boundaries b
      WHERE b.project_id = ${projectId} AND b.fall IS NOT NULL AND b.at >= ${new Date(from)} ${ofSession}
    ) b
    JOIN agents a ON a.project_id = ${projectId} AND a.id = b.agent_id
    JOIN sessions s ON s.project_id = ${projectId} AND s.id = a.session_id AND s.deleted_at IS NULL
    WHERE b.at < ${new Date(to)} ${ofHarness}
    ORDER BY b.at DESC, b.id DESC LIMIT ${MOST_FALLS + 1}`;
}

async function judge(reader: Reader, stored: readonly StoredFall[]): Promise<JudgedFall[]> {
  const latest = stored.flatMap(({ next, agent_id }) => (next === null ? [agent_id] : []));
  const open = await readOpen(reader, latest.slice(0, MOST_AGENTS));
  const sequelOf = ({ next, agent_id, ended }: StoredFall): FallSequel => {
    if (next !== null) return { turns: next.turns, refill: next.refill, isOver: true };
    const { turns, refill } = open.get(agent_id) ?? NO_FALL;
    return { turns, refill, isOver: ended };
  };
  const falls = stored.map((one): JudgedFall => {
    const sequel = sequelOf(one);
    const levels = { tokensBefore: one.before ?? undefined, tokensAfter: one.after ?? undefined };
    return { stored: one, sequel, worth: fallWorth({ ...levels, fall: one.fall }, sequel), thrash: false };
  });
  for (const agent of grouped(falls, ({ stored }) => stored.agent_id)) {
    const oldestFirst = agent.toReversed();
    const found = thrashes(oldestFirst.map(({ stored: { type }, sequel }) => ({ type, sequel })));
    for (const [index, fall] of oldestFirst.entries()) fall.thrash = found[index]!;
  }
  return falls;
}

/** What has followed the latest fall of some agents. */
async function readOpen(reader: Reader, agents: readonly string[]) {
  const rows = await reader.prisma.$queryRaw<{ id: string; state: string }[]>`
    SELECT id::text, state FROM agents
    WHERE project_id = ${reader.projectId} AND id = ANY(${agents}::uuid[]) AND state IS NOT NULL`;
  return new Map(rows.map(({ id, state }) => [id, unpackStored(state).state.sinceFall]));
}

const costOf = ({ summaryUsd = 0, rewriteUsd = 0 }: FallWorth) => summaryUsd + rewriteUsd;
const savedOf = ({ worth, sequel }: JudgedFall) => (worth.savedPerTurnUsd ?? 0) * sequel.turns;
/** What a fall that is over cost more than it saved, US dollars. */
const lossOf = (fall: JudgedFall) => (fall.sequel.isOver ? costOf(fall.worth) - savedOf(fall) : 0);

const levelOf = (tokens: number) => LEVELS.findLast((from) => tokens >= from) ?? 0;

function grouped(falls: readonly JudgedFall[], keyOf: (fall: JudgedFall) => string): JudgedFall[][] {
  const groups = new Map<string, JudgedFall[]>();
  for (const fall of falls) {
    const key = keyOf(fall);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [fall]);
    else group.push(fall);
  }
  return [...groups.values()];
}

const medianOf = (values: readonly number[]) => (values.length === 0 ? null : median(values));

function sumsOf(falls: readonly JudgedFall[]): FallSums {
  const outcomes = { paid_back: 0, pending: 0, not_paid_back: 0, unknown: 0 };
  for (const { worth } of falls) outcomes[worth.outcome] += 1;
  const priced = falls.filter(({ worth }) => worth.outcome !== "unknown");
  const refills = falls.flatMap(({ sequel: { refill } }) => (refill === undefined ? [] : [refill]));
  return {
    falls: falls.length,
    freed: medianOf(
      falls.flatMap(({ stored: { before, after } }) =>
        before === null || after === null || before === 0
          ? []
          : [reclaimedTokens({ tokensBefore: before, tokensAfter: after }) / before],
      ),
    ),
    lasted_turns: medianOf(
      falls.flatMap(({ stored, sequel }) => (stored.next === null ? [] : [sequel.turns])),
    ),
    refill_turns: medianOf(refills),
    refilled: refills.length,
    outcomes,
    cost_usd: priced.reduce((sum, { worth }) => sum + costOf(worth), 0),
    saved_usd: priced.reduce((sum, fall) => sum + savedOf(fall), 0),
  };
}

function viewOf({ stored, sequel, worth, thrash }: JudgedFall): FallView {
  const { id, type, at, before, after, fall, agent_id, agent, session_id, session, harness } = stored;
  return {
    ...{ id, type, at: at.toISOString(), harness, session_id, session, agent_id, agent },
    model: fall.model,
    tokens_before: before,
    tokens_after: after,
    turns_before: fall.turns,
    turns_after: sequel.turns,
    over: sequel.isOver,
    refill_turns: sequel.refill ?? null,
    outcome: worth.outcome,
    summary_usd: worth.summaryUsd ?? null,
    rewrite_usd: worth.rewriteUsd ?? null,
    saved_per_turn_usd: worth.savedPerTurnUsd ?? null,
    break_even_turns: worth.breakEvenTurns ?? null,
    thrash,
  };
}
