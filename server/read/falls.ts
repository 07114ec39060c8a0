import {
  type AroundFalls,
  type ChangeAtFalls,
  changeAtFalls,
  type FallFacts,
  type FallSequel,
  type FallWorth,
  fallWorth,
  MOST_SESSIONS,
  median,
  NO_FALL,
  reclaimedTokens,
  thrashes,
} from "@plimsoll/fold";
import { showsSummaries } from "@plimsoll/harnesses/recordings";
import type {
  ChangeAtFallsView,
  FallSums,
  Falls,
  FallsQuery,
  FallView,
  SurvivedView,
} from "@plimsoll/protocol/api";
import {
  type BoundaryType,
  DEFAULT_AGENT,
  LOSABLE_KINDS,
  SURVIVALS,
  type Survived,
} from "@plimsoll/protocol/events";
import { familyOf } from "@plimsoll/protocol/pure";
import { Prisma } from "../db/client.ts";
import { unpackAroundFalls } from "../db/tables/agent-outcomes.ts";
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

/** An agent with falls in a range. */
interface StoredAgent {
  agent_id: string;
  agent: string | null;
  session_id: string;
  session: string;
  harness: string;
  ended: boolean;
  /** JSON of `StoredFall[]`, oldest first: quicker to read than a row for each, and put together of texts, than json_agg. */
  falls: string;
  /** The agent's first fall after the range. */
  next: FallFacts | null;
}

type StoredFall = [
  id: string,
  type: BoundaryType,
  /** Epoch ms. */
  at: number,
  before: number | null,
  after: number | null,
  fall: FallFacts,
];

interface JudgedFall {
  of: StoredAgent;
  id: string;
  type: BoundaryType;
  at: number;
  before: number | null;
  after: number | null;
  fall: FallFacts;
  isLatest: boolean;
  sequel: FallSequel;
  worth: FallWorth;
  thrash: boolean;
}

/** What the falls of a range were worth, over all and one by one. */
export async function readFalls(reader: FreshReader, query: FallsQuery): Promise<Falls> {
  const span = spanOf(query);
  const [found, changes] = await Promise.all([
    readStored(reader, query).then((stored) => judge(reader, stored)),
    query.session === undefined ? readChanges(reader, query) : { work: null, reinjection: null },
  ]);
  const falls = found.slice(0, MOST_FALLS);
  const listed =
    query.session === undefined
      ? falls
          .filter((fall) => lossOf(fall) > 0)
          .sort((a, b) => lossOf(b) - lossOf(a))
          .slice(0, WORST)
      : falls.slice(0, MOST_OF_SESSION);
  return {
    range: { from: iso(span.from), to: iso(span.to) },
    complete: found.length <= MOST_FALLS,
    total: sumsOf(falls),
    rows: grouped(falls, ({ of: { harness }, fall, type }) => `${harness}\u0000${fall.model}\u0000${type}`)
      .sort((a, b) => b.length - a.length)
      .slice(0, MOST_ROWS)
      .map((group) => {
        const { of, fall, type } = group[0]!;
        return { harness: of.harness, model: fall.model, type, ...sumsOf(group) };
      }),
    levels: grouped(
      falls.filter(({ before }) => before !== null),
      ({ before }) => String(levelOf(before!)),
    )
      .map((group) => {
        const from = levelOf(group[0]!.before!);
        return { from_tokens: from, to_tokens: LEVELS.find((next) => next > from) ?? null, ...sumsOf(group) };
      })
      .sort((a, b) => a.from_tokens - b.from_tokens),
    falls: listed.map(viewOf),
    ...changes,
  };
}

/** What came of the calls around the falls of a session. */
interface SessionCalls {
  family: string;
  work: AroundFalls[];
  wrong: AroundFalls[];
}

/** What changed at the falls of the sessions that were active in a range. */
async function readChanges(reader: Reader, query: FallsQuery): Promise<Pick<Falls, "work" | "reinjection">> {
  const { from, to } = spanOf(query);
  const { projectId } = reader;
  const ofHarness = query.harness === undefined ? Prisma.empty : Prisma.sql`AND s.harness = ${query.harness}`;
  const rows = await reader.prisma.$queryRaw<
    { work: Uint8Array; wrong: Uint8Array; session: string; harness: string }[]
  >`
    SELECT o.work, o.wrong, a.session_id::text AS session, s.harness FROM agent_outcomes o
    JOIN agents a ON a.project_id = ${projectId} AND a.number = o.agent AND a.first_at < ${new Date(to)}
    JOIN sessions s ON s.project_id = ${projectId} AND s.id = a.session_id AND s.deleted_at IS NULL ${ofHarness}
    WHERE o.project_id = ${projectId} AND o.last_at >= ${new Date(from)} AND (length(o.work) > 1 OR length(o.wrong) > 1)
    ORDER BY o.last_at DESC, o.agent DESC LIMIT ${MOST_FALLS}`;
  const found = new Map<string, SessionCalls>();
  for (const { work, wrong, session, harness } of rows) {
    const known = found.get(session) ?? { family: familyOf(harness), work: [], wrong: [] };
    found.set(session, known);
    known.work.push(...unpackAroundFalls(work));
    known.wrong.push(...unpackAroundFalls(wrong));
  }
  const sessions = [...found.values()].slice(0, MOST_SESSIONS);
  return {
    work: changeView(changeAtFalls(sessions.map(({ work }) => work))),
    reinjection: compared(sessions),
  };
}

/** Compactions with rules put back beside the others of the same families. Null if there is none with. */
function compared(sessions: readonly SessionCalls[]): Falls["reinjection"] {
  const families = new Set(
    sessions.flatMap(({ family, wrong }) => (wrong.some(({ reinjected }) => reinjected) ? [family] : [])),
  );
  const calls = sessions.filter(({ family }) => families.has(family)).map(({ wrong }) => wrong);
  const of = (isOn: boolean) =>
    changeView(changeAtFalls(calls, ({ type, reinjected }) => type === "compacted" && reinjected === isOn));
  return families.size === 0 ? null : { with: of(true), without: of(false) };
}

function changeView(change: ChangeAtFalls | undefined): ChangeAtFallsView | null {
  if (change === undefined) return null;
  const { usualChange, ...rest } = change;
  return { ...rest, usual_change: usualChange };
}

/** The agents of the latest falls of a range: of one fall more than is read if there are more. */
function readStored(reader: Reader, query: FallsQuery): Promise<StoredAgent[]> {
  const { from, to } = spanOf(query);
  const { projectId } = reader;
  const ofHarness = query.harness === undefined ? Prisma.empty : Prisma.sql`AND s.harness = ${query.harness}`;
  const ofSession =
    query.session === undefined ? Prisma.empty : Prisma.sql`AND b.session_id = ${query.session}::uuid`;
  return reader.prisma.$queryRaw<StoredAgent[]>`
    SELECT a.id::text AS agent_id,
      CASE WHEN a.id = s.main_agent OR a.name = ${DEFAULT_AGENT} THEN NULL ELSE a.name END AS agent,
      s.id::text AS session_id, COALESCE(s.title, s.name) AS session, s.harness,
      (s.ended_at IS NOT NULL AND s.last_at <= s.ended_at) AS ended, f.falls, n.fall AS next
    FROM (
      SELECT b.agent_id, '[' || string_agg(
        '[' || to_json(b.id) || ',"' || b.type || '",' || (extract(epoch FROM b.at) * 1000)::int8 || ',' ||
          COALESCE(b.tokens_before::text, 'null') || ',' || COALESCE(b.tokens_after::text, 'null') || ',' || b.fall || ']',
        ',' ORDER BY b.at, b.id) || ']' AS falls
      FROM (
        SELECT b.agent_id, b.id, b.type, b.at, b.tokens_before, b.tokens_after, b.fall FROM boundaries b
        JOIN sessions s ON s.project_id = ${projectId} AND s.id = b.session_id AND s.deleted_at IS NULL ${ofHarness}
        WHERE b.project_id = ${projectId} AND b.fall IS NOT NULL
          AND b.at >= ${new Date(from)} AND b.at < ${new Date(to)} ${ofSession}
        ORDER BY b.at DESC, b.id DESC LIMIT ${MOST_FALLS + 1}
      ) b GROUP BY b.agent_id
    ) f
    JOIN agents a ON a.project_id = ${projectId} AND a.id = f.agent_id
    JOIN sessions s ON s.project_id = ${projectId} AND s.id = a.session_id
    LEFT JOIN LATERAL (
      SELECT b.fall FROM boundaries b
      WHERE b.project_id = ${projectId} AND b.agent_id = a.id AND b.fall IS NOT NULL
        AND b.at >= ${new Date(to)} AND a.last_at >= ${new Date(to)}
      ORDER BY b.at, b.id LIMIT 1
    ) n ON true`;
}

/** Newest first. */
async function judge(reader: Reader, stored: readonly StoredAgent[]): Promise<JudgedFall[]> {
  const models = new Map<string, string>();
  const agents = stored.map((of) => {
    const falls = JSON.parse(of.falls) as StoredFall[];
    // One text for each model: it is looked up and compared many times.
    for (const stored of falls) {
      const { model } = stored[5];
      const known = models.get(model);
      if (known === undefined) models.set(model, model);
      else stored[5].model = known;
    }
    return { of, falls };
  });
  const newest = ({ falls }: (typeof agents)[number]) => falls.at(-1)!;
  const followed = agents
    .filter(({ of }) => of.next === null)
    .sort((one, other) => newest(other)[2] - newest(one)[2])
    .slice(0, MOST_AGENTS);
  const open = await readOpen(
    reader,
    followed.map(({ of }) => of.agent_id),
  );
  return agents
    .flatMap(({ of, falls }) => judgeAgent(of, falls, open.get(of.agent_id) ?? NO_FALL))
    .sort((a, b) => b.at - a.at || (a.id < b.id ? 1 : -1));
}

/** @param since what followed the agent's latest fall */
function judgeAgent(
  of: StoredAgent,
  stored: readonly StoredFall[],
  since: Pick<FallSequel, "turns" | "refill">,
): JudgedFall[] {
  const falls = stored.map(([id, type, at, before, after, fall], index): JudgedFall => {
    // The next fall says how long this one lasted.
    const next = stored[index + 1]?.[5] ?? of.next;
    const isLatest = next === null;
    const sequel = isLatest
      ? { turns: since.turns, refill: since.refill, isOver: of.ended }
      : { turns: next.turns, refill: next.refill, isOver: true };
    const worth = fallWorth(
      { tokensBefore: before ?? undefined, tokensAfter: after ?? undefined, fall },
      sequel,
    );
    return { of, id, type, at, before, after, fall, isLatest, sequel, worth, thrash: false };
  });
  for (const [index, thrash] of thrashes(falls).entries()) falls[index]!.thrash = thrash;
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

/** The median of those values that are known; null without one. */
function medianOf(falls: readonly JudgedFall[], read: (fall: JudgedFall) => number | undefined) {
  const values: number[] = [];
  for (const fall of falls) {
    const value = read(fall);
    if (value !== undefined) values.push(value);
  }
  return values.length === 0 ? null : median(values);
}

const freedOf = ({ before, after }: JudgedFall) =>
  before === null || after === null || before === 0
    ? undefined
    : reclaimedTokens({ tokensBefore: before, tokensAfter: after }) / before;

function sumsOf(falls: readonly JudgedFall[]): FallSums {
  const sums = { refilled: 0, cost_usd: 0, saved_usd: 0 };
  const outcomes = { paid_back: 0, pending: 0, not_paid_back: 0, unknown: 0 };
  for (const fall of falls) {
    const { worth, sequel } = fall;
    outcomes[worth.outcome] += 1;
    if (sequel.refill !== undefined) sums.refilled += 1;
    if (worth.outcome === "unknown") continue;
    sums.cost_usd += costOf(worth);
    sums.saved_usd += savedOf(fall);
  }
  return {
    falls: falls.length,
    freed: medianOf(falls, freedOf),
    lasted_turns: medianOf(falls, ({ isLatest, sequel }) => (isLatest ? undefined : sequel.turns)),
    refill_turns: medianOf(falls, ({ sequel }) => sequel.refill),
    outcomes,
    ...sums,
    ...survivedOf(falls),
  };
}

function survivedOf(falls: readonly JudgedFall[]): Pick<FallSums, "seen" | "survived"> {
  const all = falls.flatMap(({ fall }) => fall.survived ?? []);
  const survived = survivedView({});
  for (const kind of LOSABLE_KINDS)
    for (const { [kind]: counts } of all) {
      if (counts === undefined) continue;
      survived[kind] ??= { verbatim: 0, near: 0, absent: 0 };
      for (const one of SURVIVALS) survived[kind][one] += counts[one];
    }
  return { seen: all.length, survived };
}

const survivedView = ({ rule, prompt, file }: Survived): SurvivedView => ({
  rule: rule ?? null,
  prompt: prompt ?? null,
  file: file ?? null,
});

const unseenOf = ({ of: { harness }, type, fall }: JudgedFall): FallView["unseen"] =>
  type !== "compacted" || fall.survived !== undefined
    ? null
    : showsSummaries(harness)
      ? "not_imported"
      : "not_recorded";

function viewOf(judged: JudgedFall): FallView {
  const { of, id, type, at, before, after, fall, sequel, worth, thrash } = judged;
  const { harness, session_id, session, agent_id, agent } = of;
  return {
    ...{ id, type, at: iso(at), harness, session_id, session, agent_id, agent },
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
    survived: fall.survived === undefined ? null : survivedView(fall.survived),
    unseen: unseenOf(judged),
  };
}
