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
import { FallUnpacker, type StoredFall } from "../db/tables/packed-falls.ts";
import { unpackStored } from "../db/tables/packed-state.ts";
import type { FreshReader, Reader } from "../lines/reader.ts";
import { iso, spanOf } from "../times.ts";

const MOST_FALLS = 20_000;
const MOST_ROWS = 12;
const WORST = 8;
const MOST_OF_SESSION = 100;
const PAGE = 4_000;
/** Agents without packed falls whose latest one is followed up to now; that of others counts as followed by no turn. */
const MOST_AGENTS = 2_000;
/** Where a group of levels begins, tokens. */
const LEVELS = [0, 50_000, 100_000, 150_000, 200_000, 400_000] as const;

/** An agent that was active in a range. */
interface ActiveAgent {
  number: number;
  agent_id: string;
  agent: string | null;
  session_id: string;
  session: string;
  harness: string;
  ended: boolean;
  /** Of its latest turn when it was counted. Epoch ms. */
  counted_to: number;
  /** By `packFalls`; null if its falls have to be read one by one. */
  falls: Uint8Array | null;
}

/** The falls of an agent in a range. */
interface FallsInRange {
  of: ActiveAgent;
  /** Oldest first. */
  falls: readonly StoredFall[];
  /** The agent's first fall after the range. */
  next: FallFacts | undefined;
  /** What has followed the latest of all. */
  since: Pick<FallSequel, "turns" | "refill">;
}

/** Falls that are looked at, and agents of one query. */
interface Limits {
  falls: number;
  page: number;
}

interface JudgedFall {
  of: ActiveAgent;
  stored: StoredFall;
  isLatest: boolean;
  sequel: FallSequel;
  worth: FallWorth;
  thrash: boolean;
}

/**
 * What the falls of a range were worth, over all and one by one.
 * @param limits only tests set others
 */
export async function readFalls(
  reader: FreshReader,
  query: FallsQuery,
  limits: Limits = { falls: MOST_FALLS, page: PAGE },
): Promise<Falls> {
  const span = spanOf(query);
  const [found, changes] = await Promise.all([
    readStored(reader, query, limits),
    query.session === undefined ? readChanges(reader, query) : { work: null, reinjection: null },
  ]);
  const judged = found.flatMap(judgeAgent);
  const falls = judged.length > limits.falls ? judged.sort(newestFirst).slice(0, limits.falls) : judged;
  const listed =
    query.session === undefined
      ? falls
          .filter((fall) => lossOf(fall) > 0)
          .sort((a, b) => lossOf(b) - lossOf(a) || newestFirst(a, b))
          .slice(0, WORST)
      : falls.toSorted(newestFirst).slice(0, MOST_OF_SESSION);
  return {
    range: { from: iso(span.from), to: iso(span.to) },
    complete: judged.length <= limits.falls,
    ...sumsOf(falls),
    falls: listed.map(viewOf),
    ...changes,
  };
}

function newestFirst({ stored: a }: JudgedFall, { stored: b }: JudgedFall): number {
  return b.at - a.at || (a.id < b.id ? 1 : -1);
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

/** The agents with falls in a range, in the order of their numbers. Of very many falls, the latest are enough. */
async function readStored(reader: Reader, query: FallsQuery, limits: Limits): Promise<FallsInRange[]> {
  const { from, to } = spanOf(query);
  // First, so that an agent that is counted meanwhile is found in one of both.
  const agents = new Map((await readUncounted(reader, query)).map((agent) => [agent.number, agent]));
  const unpacker = new FallUnpacker();
  const found: FallsInRange[] = [];
  let last: ActiveAgent | undefined;
  do {
    const page = await readCounted(reader, query, { after: last, limit: limits.page });
    for (const of of page) {
      if (of.falls === null || agents.has(of.number)) agents.set(of.number, { ...of, falls: null });
      else {
        const { falls: all, since = NO_FALL } = unpacker.unpack(of.falls);
        const falls = all.filter(({ at }) => at >= from && at < to);
        if (falls.length > 0) found.push({ of, falls, next: all.find(({ at }) => at >= to)?.fall, since });
      }
    }
    last = page.length < limits.page ? undefined : page.at(-1);
  } while (last !== undefined && fallsSince(found, last.counted_to) <= limits.falls);
  if (agents.size > 0) found.push(...(await readEach(reader, query, { agents, limit: limits.falls + 1 })));
  return found.sort((one, other) => one.of.number - other.of.number);
}

/** Falls after a time. Agents that are not read yet have none of them. */
function fallsSince(found: readonly FallsInRange[], time: number): number {
  return found.reduce((sum, { falls }) => sum + falls.filter(({ at }) => at > time).length, 0);
}

const ACTIVE_AGENT = Prisma.sql`a.number, a.id::text AS agent_id,
  CASE WHEN a.id = s.main_agent OR a.name = ${DEFAULT_AGENT} THEN NULL ELSE a.name END AS agent,
  s.id::text AS session_id, COALESCE(s.title, s.name) AS session, s.harness,
  (s.ended_at IS NOT NULL AND s.last_at <= s.ended_at) AS ended`;

/** The session of an agent, as far as the query asks for it. */
function sessionIn({ projectId }: Reader, { harness, session }: FallsQuery): Prisma.Sql {
  const ofHarness = harness === undefined ? Prisma.empty : Prisma.sql`AND s.harness = ${harness}`;
  const ofSession = session === undefined ? Prisma.empty : Prisma.sql`AND a.session_id = ${session}::uuid`;
  return Prisma.sql`JOIN sessions s ON s.project_id = ${projectId} AND s.id = a.session_id AND s.deleted_at IS NULL
    ${ofHarness} ${ofSession}`;
}

/** Agents that changed since they were counted. */
function readUncounted(reader: Reader, query: FallsQuery): Promise<ActiveAgent[]> {
  const { from, to } = spanOf(query);
  return reader.prisma.$queryRaw<ActiveAgent[]>`
    SELECT ${ACTIVE_AGENT}, 0::float8 AS counted_to, NULL::bytea AS falls FROM agents a ${sessionIn(reader, query)}
    WHERE a.project_id = ${reader.projectId} AND a.uncounted
      AND a.last_at >= ${new Date(from)} AND a.first_at < ${new Date(to)}`;
}

/** Agents with falls, the latest first. `after` is the last one of the page before. */
function readCounted(
  reader: Reader,
  query: FallsQuery,
  { after, limit }: { after: ActiveAgent | undefined; limit: number },
): Promise<ActiveAgent[]> {
  const { from, to } = spanOf(query);
  const { projectId } = reader;
  const further =
    after === undefined
      ? Prisma.empty
      : Prisma.sql`AND (o.last_at, o.agent) < (${new Date(after.counted_to)}, ${after.number})`;
  return reader.prisma.$queryRaw<ActiveAgent[]>`
    SELECT ${ACTIVE_AGENT}, (extract(epoch FROM o.last_at) * 1000)::float8 AS counted_to,
      CASE WHEN a.uncounted THEN NULL ELSE o.falls END AS falls
    FROM agent_outcomes o
    JOIN agents a ON a.project_id = ${projectId} AND a.number = o.agent AND a.first_at < ${new Date(to)}
    ${sessionIn(reader, query)}
    WHERE o.project_id = ${projectId} AND o.last_at >= ${new Date(from)} ${further}
      AND (a.uncounted OR o.falls IS NULL OR length(o.falls) > 0)
    ORDER BY o.last_at DESC, o.agent DESC LIMIT ${limit}`;
}

type ListedFall = [
  id: string,
  type: BoundaryType,
  /** Epoch ms. */
  at: number,
  before: number | null,
  after: number | null,
  fall: FallFacts,
];

interface FallsRow {
  number: number;
  /** JSON of `ListedFall[]`, oldest first: quicker to read than a row for each, and put together of texts, than json_agg. */
  falls: string;
  next: FallFacts | null;
}

/** The latest falls of agents without packed ones. */
async function readEach(
  reader: Reader,
  query: FallsQuery,
  { agents, limit }: { agents: ReadonlyMap<number, ActiveAgent>; limit: number },
): Promise<FallsInRange[]> {
  const { from, to } = spanOf(query);
  const { projectId } = reader;
  const ids = [...agents.values()].map(({ agent_id }) => agent_id);
  const rows = await reader.prisma.$queryRaw<FallsRow[]>`
    SELECT a.number, f.falls, n.fall AS next FROM (
      SELECT b.agent_id, '[' || string_agg(
        '[' || to_json(b.id) || ',"' || b.type || '",' || (extract(epoch FROM b.at) * 1000)::int8 || ',' ||
          COALESCE(b.tokens_before::text, 'null') || ',' || COALESCE(b.tokens_after::text, 'null') || ',' || b.fall || ']',
        ',' ORDER BY b.at, b.id) || ']' AS falls
      FROM (
        SELECT b.agent_id, b.id, b.type, b.at, b.tokens_before, b.tokens_after, b.fall FROM boundaries b
        WHERE b.project_id = ${projectId} AND b.agent_id = ANY(${ids}::uuid[]) AND b.fall IS NOT NULL
          AND b.at >= ${new Date(from)} AND b.at < ${new Date(to)}
        ORDER BY b.at DESC, b.id DESC LIMIT ${limit}
      ) b GROUP BY b.agent_id
    ) f
    JOIN agents a ON a.project_id = ${projectId} AND a.id = f.agent_id
    LEFT JOIN LATERAL (
      SELECT b.fall FROM boundaries b
      WHERE b.project_id = ${projectId} AND b.agent_id = a.id AND b.fall IS NOT NULL
        AND b.at >= ${new Date(to)} AND a.last_at >= ${new Date(to)}
      ORDER BY b.at, b.id LIMIT 1
    ) n ON true`;
  const found = rows.map(({ number, falls, next }) => ({
    of: agents.get(number)!,
    falls: (JSON.parse(falls) as ListedFall[]).map(
      ([id, type, at, before, after, fall]): StoredFall => ({
        ...{ id, type, at, before: before ?? undefined, after: after ?? undefined, fall },
      }),
    ),
    next: next ?? undefined,
  }));
  const open = await readOpen(reader, found);
  return found.map((agent) => ({ ...agent, since: open.get(agent.of.agent_id) ?? NO_FALL }));
}

/** What has followed the latest fall of some agents. */
async function readOpen(reader: Reader, agents: readonly Omit<FallsInRange, "since">[]) {
  const newest = ({ falls }: (typeof agents)[number]) => falls.at(-1)!.at;
  const followed = agents
    .filter(({ next }) => next === undefined)
    .sort((one, other) => newest(other) - newest(one))
    .slice(0, MOST_AGENTS)
    .map(({ of }) => of.agent_id);
  const rows = await reader.prisma.$queryRaw<{ id: string; state: string }[]>`
    SELECT id::text, state FROM agents
    WHERE project_id = ${reader.projectId} AND id = ANY(${followed}::uuid[]) AND state IS NOT NULL`;
  return new Map(rows.map(({ id, state }) => [id, unpackStored(state).state.sinceFall]));
}

function judgeAgent({ of, falls: all, next: afterRange, since }: FallsInRange): JudgedFall[] {
  const falls = all.map((stored, index): JudgedFall => {
    // The next fall says how long this one lasted.
    const next = all[index + 1]?.fall ?? afterRange;
    const isLatest = next === undefined;
    const { turns, refill } = next ?? since;
    const sequel = { turns, refill, isOver: !isLatest || of.ended };
    const { before: tokensBefore, after: tokensAfter, fall } = stored;
    const worth = fallWorth({ tokensBefore, tokensAfter, fall }, sequel);
    return { of, stored, isLatest, sequel, worth, thrash: false };
  });
  const types = falls.map(({ stored: { type }, sequel }) => ({ type, sequel }));
  for (const [index, thrash] of thrashes(types).entries()) falls[index]!.thrash = thrash;
  return falls;
}

const costOf = ({ summaryUsd = 0, rewriteUsd = 0 }: FallWorth) => summaryUsd + rewriteUsd;
const savedOf = ({ worth, sequel }: JudgedFall) => (worth.savedPerTurnUsd ?? 0) * sequel.turns;
/** What a fall that is over cost more than it saved, US dollars. */
const lossOf = (fall: JudgedFall) => (fall.sequel.isOver ? costOf(fall.worth) - savedOf(fall) : 0);

const levelOf = (tokens: number) => LEVELS.findLast((from) => tokens >= from) ?? 0;

/** What falls were worth, over all, by harness, model and type, and by the level before. */
function sumsOf(all: readonly JudgedFall[]): Pick<Falls, "total" | "rows" | "levels"> {
  const total = new FallsSum();
  const rows = new Map<string, Map<string, Map<BoundaryType, FallsSum>>>();
  const levels = new Map<number, FallsSum>();
  const sum = () => new FallsSum();
  for (const judged of all) {
    const { of, stored } = judged;
    const models = known(rows, of.harness, () => new Map<string, Map<BoundaryType, FallsSum>>());
    const types = known(models, stored.fall.model, () => new Map<BoundaryType, FallsSum>());
    const freed = freedOf(stored);
    total.add(judged, freed);
    known(types, stored.type, sum).add(judged, freed);
    if (stored.before !== undefined) known(levels, levelOf(stored.before), sum).add(judged, freed);
  }
  return {
    total: total.view(),
    rows: [...rows]
      .flatMap(([harness, models]) =>
        [...models].flatMap(([model, types]) =>
          [...types].map(([type, own]) => ({ place: { harness, model, type }, own })),
        ),
      )
      .sort(({ own: a }, { own: b }) => b.falls - a.falls || b.newest - a.newest)
      .slice(0, MOST_ROWS)
      .map(({ place, own }) => ({ ...place, ...own.view() })),
    levels: [...levels]
      .sort(([one], [other]) => one - other)
      .map(([from, own]) => ({
        ...{ from_tokens: from, to_tokens: LEVELS.find((next) => next > from) ?? null },
        ...own.view(),
      })),
  };
}

/** The value of a key, made when it is first asked for. */
function known<Key, Value>(values: Map<Key, Value>, key: Key, make: () => Value): Value {
  let value = values.get(key);
  if (value === undefined) {
    value = make();
    values.set(key, value);
  }
  return value;
}

const freedOf = ({ before, after }: StoredFall) =>
  before === undefined || after === undefined || before === 0
    ? undefined
    : reclaimedTokens({ tokensBefore: before, tokensAfter: after }) / before;

/** What some falls were worth. They are read once: a month has tens of thousands. */
class FallsSum {
  falls = 0;
  /** Of the latest of them. Epoch ms. */
  newest = Number.NEGATIVE_INFINITY;
  readonly #freed: number[] = [];
  readonly #lasted: number[] = [];
  readonly #refills: number[] = [];
  readonly #outcomes = { paid_back: 0, pending: 0, not_paid_back: 0, unknown: 0 };
  #cost = 0;
  #saved = 0;
  #seen = 0;
  readonly #survived = survivedView({});

  /** @param freed share of the level before */
  add(judged: JudgedFall, freed: number | undefined): void {
    const { stored, sequel, worth, isLatest } = judged;
    this.falls += 1;
    this.newest = Math.max(this.newest, stored.at);
    if (freed !== undefined) this.#freed.push(freed);
    if (!isLatest) this.#lasted.push(sequel.turns);
    if (sequel.refill !== undefined) this.#refills.push(sequel.refill);
    this.#outcomes[worth.outcome] += 1;
    if (worth.outcome !== "unknown") {
      this.#cost += costOf(worth);
      this.#saved += savedOf(judged);
    }
    if (stored.fall.survived !== undefined) this.#survive(stored.fall.survived);
  }

  #survive(survived: Survived): void {
    this.#seen += 1;
    for (const kind of LOSABLE_KINDS) {
      const counts = survived[kind];
      if (counts === undefined) continue;
      this.#survived[kind] ??= { verbatim: 0, near: 0, absent: 0 };
      for (const one of SURVIVALS) this.#survived[kind][one] += counts[one];
    }
  }

  view(): FallSums {
    return {
      falls: this.falls,
      freed: medianOf(this.#freed),
      lasted_turns: medianOf(this.#lasted),
      refill_turns: medianOf(this.#refills),
      outcomes: this.#outcomes,
      refilled: this.#refills.length,
      cost_usd: this.#cost,
      saved_usd: this.#saved,
      seen: this.#seen,
      survived: this.#survived,
    };
  }
}

const medianOf = (values: readonly number[]) => (values.length === 0 ? null : median(values));

const survivedView = ({ rule, prompt, file }: Survived): SurvivedView => ({
  rule: rule ?? null,
  prompt: prompt ?? null,
  file: file ?? null,
});

const unseenOf = ({ of: { harness }, stored: { type, fall } }: JudgedFall): FallView["unseen"] =>
  type !== "compacted" || fall.survived !== undefined
    ? null
    : showsSummaries(harness)
      ? "not_imported"
      : "not_recorded";

function viewOf(judged: JudgedFall): FallView {
  const { of, stored, sequel, worth, thrash } = judged;
  const { harness, session_id, session, agent_id, agent } = of;
  const { id, type, at, before, after, fall } = stored;
  return {
    ...{ id, type, at: iso(at), harness, session_id, session, agent_id, agent },
    model: fall.model,
    tokens_before: before ?? null,
    tokens_after: after ?? null,
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
