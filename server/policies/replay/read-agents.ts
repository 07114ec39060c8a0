import { compareText, orderTurns, type PlacedTurn } from "@plimsoll/fold";
import { BOUNDARY_TYPES, type BoundaryType } from "@plimsoll/protocol/events";
import type { Sql } from "../../db/sql.ts";
import { arrayLiteral } from "../../db/tables/binary-arrays.ts";
import { BOUNDARY_ORIGIN } from "../../db/tables/codes.ts";
import { inBatches, readTurnsBetween, type TimeSpan } from "../../db/tables/read-turns.ts";
import { isLevel, type TurnRow } from "../../db/tables/turns.ts";
import type { AgentReplay, ReplayItem } from "./agent-replay.ts";
import { BY_POLICY } from "./effects.ts";

/** Which agents a replay reads. */
export interface ReplayFilter extends TimeSpan {
  harness?: string | undefined;
  family?: string | undefined;
  model?: string | undefined;
  session?: string | undefined;
}

/** An agent to replay. */
export interface ReplayAgent {
  /** `agents.number`. */
  number: number;
  id: string;
  name: string;
  sessionId: string;
  /** Of its session. */
  harness: string;
  /** Epoch ms. */
  firstAt: number;
  inLoop: boolean;
  /** The last known size of its window. */
  windowTokens: number | null;
  /** Its blocks that reach into the span, and the turns in them. */
  blocks: number;
  turns: number;
}

interface StoredMark {
  agent: string;
  id: string;
  at: number;
  window: number;
  type: BoundaryType;
  by_policy: boolean;
  /** Nobody sent it: a turn showed the fall, and it has that turn's time. */
  inferred: boolean;
  before: number | null;
  after: number | null;
}

/** What is recorded of one agent in the span. */
export interface AgentRecord {
  agent: ReplayAgent;
  turns: PlacedTurn<TurnRow>[];
  marks: StoredMark[];
  crossings: { threshold: string; count: number }[];
}

const time = (parameter: string) => `to_timestamp(${parameter}::float8 / 1000)`;

const MATCHING = `
FROM sessions s
JOIN agents a ON a.project_id = $1 AND a.session_id = s.id AND a.last_at >= ${time("$2")} AND a.first_at < ${time("$3")}
CROSS JOIN LATERAL (
  SELECT count(*)::int4 AS blocks, COALESCE(sum(b.turns), 0)::int4 AS turns FROM turn_blocks b
  WHERE b.project_id = $1 AND b.agent = a.number AND b.first_at < ${time("$3")} AND b.last_at >= ${time("$2")}) t
WHERE s.project_id = $1 AND s.deleted_at IS NULL AND t.blocks > 0 AND ($4::text IS NULL OR s.harness = $4)
  AND ($5::text IS NULL OR lower(split_part(s.harness, '@', 1)) = lower($5))
  AND ($6::text IS NULL OR a.model = $6) AND ($7::uuid IS NULL OR s.id = $7)`;

const COUNT = `SELECT COALESCE(sum(t.turns), 0)::float8 AS turns ${MATCHING}`;
const PAGE = `
SELECT a.number, a.id, a.name, a.session_id AS "sessionId", s.harness, (extract(epoch FROM a.first_at) * 1000)::float8 AS "firstAt",
  (s.kind IS NOT DISTINCT FROM 'loop' OR a.subticks > 0) AS "inLoop", a.current_window AS "windowTokens", t.blocks, t.turns
${MATCHING} AND (s.id, a.number) > ($8::uuid, $9::int4) ORDER BY s.id, a.number LIMIT $10`;

const MARKS = `
SELECT b.agent_id AS agent, b.id, (extract(epoch FROM b.at) * 1000)::float8 AS at, b.window_index AS window, b.type,
  ${BY_POLICY} AS by_policy, b.origin = ${BOUNDARY_ORIGIN.inferred} AS inferred, b.tokens_before AS before, b.tokens_after AS after
FROM boundaries b WHERE b.project_id = $1 AND b.agent_id = ANY($2::uuid[]) AND b.type = ANY($3::text[])
  AND b.at >= ${time("$4")} AND b.at < ${time("$5")}`;

const CROSSINGS = `
SELECT c.agent_id AS agent, c.threshold, count(*)::int4 AS count FROM crossings c
WHERE c.project_id = $1 AND c.agent_id = ANY($2::uuid[]) AND c.up AND c.at >= ${time("$3")} AND c.at < ${time("$4")}
GROUP BY c.agent_id, c.threshold`;

const AGENTS_AT_ONCE = 1_000;
/** Turns in memory, unless one agent alone has more. */
const TURNS_AT_ONCE = 20_000;
const NO_UUID = "00000000-0000-0000-0000-000000000000";
const TYPES = arrayLiteral([...BOUNDARY_TYPES]);

const parametersOf = (projectId: number, { from, to, harness, family, model, session }: ReplayFilter) => [
  projectId,
  from,
  to,
  harness ?? null,
  family ?? null,
  model ?? null,
  session ?? null,
];

/** Turns in the blocks that a replay reads: a few more than are in the span. */
export async function countReplayTurns(
  sql: Pick<Sql, "query">,
  projectId: number,
  filter: ReplayFilter,
): Promise<number> {
  const [row] = await sql.query<{ turns: number }>(COUNT, ...parametersOf(projectId, filter));
  return row!.turns;
}

/** Waits until other work had its turn, if it is due. */
export type GiveTurn = () => Promise<void> | undefined;

/** The matching agents with their records, session by session: no agent of another session stands between two of one. */
export async function* readAgentRecords(
  sql: Pick<Sql, "query">,
  projectId: number,
  filter: ReplayFilter,
  pause: GiveTurn,
): AsyncGenerator<AgentRecord> {
  let after = { sessionId: NO_UUID, number: 0 };
  for (;;) {
    const page = await sql.query<ReplayAgent>(
      PAGE,
      ...parametersOf(projectId, filter),
      after.sessionId,
      after.number,
      AGENTS_AT_ONCE,
    );
    for (const batch of inBatches(page, ({ turns }) => turns, TURNS_AT_ONCE))
      yield* await readBatch(sql, projectId, batch, filter, pause);
    if (page.length < AGENTS_AT_ONCE) return;
    after = page.at(-1)!;
  }
}

async function readBatch(
  sql: Pick<Sql, "query">,
  projectId: number,
  agents: readonly ReplayAgent[],
  span: TimeSpan,
  pause: GiveTurn,
): Promise<AgentRecord[]> {
  const records = agents.map((agent): AgentRecord => ({ agent, turns: [], marks: [], crossings: [] }));
  const byNumber = new Map(records.map((record) => [record.agent.number, record]));
  const byId = new Map(records.map((record) => [record.agent.id, record]));
  for await (const block of readTurnsBetween(sql, projectId, agents, span)) {
    const [first] = block;
    if (first === undefined) continue;
    const { turns } = byNumber.get(first.agent)!;
    for (const turn of block) turns.push({ turn, window: turn.windowIndex, seq: 0 });
    await pause();
  }
  const ids = arrayLiteral(agents.map(({ id }) => id));
  const { from, to } = span;
  for (const mark of await sql.query<StoredMark>(MARKS, projectId, ids, TYPES, from, to))
    byId.get(mark.agent)!.marks.push(mark);
  for (const row of await sql.query<{ agent: string; threshold: string; count: number }>(
    CROSSINGS,
    projectId,
    ids,
    from,
    to,
  ))
    byId.get(row.agent)!.crossings.push(row);
  return records;
}

/** Turns after which other work may get its turn. */
const STRETCH = 200;

/**
 * Replays a record in the order of the protocol's timeline.
 * @param pause called every few hundred turns, with their number
 */
export async function replayRecord(
  replay: AgentReplay,
  { turns, marks, crossings }: AgentRecord,
  modelName: (id: number) => string,
  pause: (turns: number) => Promise<void> | undefined,
): Promise<void> {
  orderTurns(turns);
  marks.sort((a, b) => a.window - b.window || a.at - b.at || compareText(a.id, b.id));
  let next = 0;
  let since = 0;
  for (const { turn } of turns) {
    while (next < marks.length && precedes(marks[next]!, turn)) replay.add(boundaryOf(marks[next++]!));
    replay.add(turnOf(turn, modelName));
    if (++since < STRETCH) continue;
    await pause(since);
    since = 0;
  }
  for (const mark of marks.slice(next)) replay.add(boundaryOf(mark));
  for (const { threshold, count } of crossings) {
    for (let one = 0; one < count; one++) replay.add({ type: "crossing", threshold, up: true, at: 0 });
  }
  await pause(since);
}

function precedes({ window, at, inferred }: StoredMark, turn: TurnRow): boolean {
  if (window !== turn.windowIndex) return window < turn.windowIndex;
  return inferred ? at <= turn.at : at < turn.at;
}

function turnOf(turn: TurnRow, modelName: (id: number) => string): ReplayItem {
  return {
    type: "turn",
    at: turn.at,
    model: modelName(turn.modelId),
    contextTokens: turn.contextTokens,
    windowTokens: turn.windowTokens,
    outputTokens: turn.outputTokens,
    compaction: !isLevel(turn),
  };
}

function boundaryOf({ at, type, by_policy: byPolicy, before, after }: StoredMark): ReplayItem {
  return {
    type: "boundary",
    at,
    boundary: type,
    byPolicy,
    tokensBefore: before ?? undefined,
    tokensAfter: after ?? undefined,
  };
}
