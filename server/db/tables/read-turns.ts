import type { Sql } from "../sql.ts";
import { arrayLiteral } from "./binary-arrays.ts";
import { levelOfState, turnsOfSummary } from "./packed-state.ts";
import { turnBlocks, unpackBlock } from "./turn-blocks.ts";
import { countedTurns, type TurnRow } from "./turns.ts";

/** Epoch ms; `from` is included, `to` is not. */
export interface TimeSpan {
  from: number;
  to: number;
}

/** An agent that was active in a span; see `activeAgents`. */
export interface ActiveAgent {
  /** `agents.number`. */
  number: number;
  /** Of its session. */
  harness: string;
  /** Its blocks that reach into the span. */
  blocks: number;
}

const time = (parameter: string) => `to_timestamp(${parameter}::float8 / 1000)`;
const reachesInto = (from: string, to: string) => `b.first_at < ${time(to)} AND b.last_at >= ${time(from)}`;

const BLOCKS_BETWEEN = `SELECT ${turnBlocks.select("b")} FROM turn_blocks b
WHERE b.project_id = $1 AND b.agent = ANY($2::int4[]) AND ${reachesInto("$3", "$4")}
ORDER BY b.agent, b.first_at, b.first_key`;

const cutsOf = (agent: string) => `FROM segments c WHERE c.project_id = $1 AND c.agent = ${agent}`;
const ms = (column: string) => `(extract(epoch FROM ${column}) * 1000)::float8`;
/** Blocks between two cuts. No block reaches over a cut, so none is missing and none has other turns. */
const between = (agent: string, since: string, until: string) => `
  SELECT ${turnBlocks.select("b")} FROM turn_blocks b WHERE b.project_id = $1 AND b.agent = ${agent}
  AND b.first_at > COALESCE(${since}, '-infinity') AND b.first_at <= COALESCE(${until}, 'infinity')
  ORDER BY b.first_at, b.first_key`;

const RUNS = `
WITH asked AS MATERIALIZED (
  SELECT i.agent AS asked, a.turns AS total, after.ends_at AS until, before.ends_at AS since, before.level,
    CASE WHEN before.ends_at IS NULL THEN 0
      WHEN after.ends_at IS NOT NULL THEN (SELECT sum(${turnsOfSummary("c")}) ${cutsOf("i.agent")} AND c.ends_at <= before.ends_at)
    END::int4 AS turns_before
  FROM unnest($2::int4[], $3::float8[], $4::int4[]) AS i(agent, until, segments)
  LEFT JOIN agents a ON a.project_id = $1 AND a.number = i.agent
  LEFT JOIN LATERAL (SELECT c.ends_at ${cutsOf("i.agent")} AND c.ends_at >= ${time("i.until")}
    ORDER BY c.ends_at LIMIT 1) after ON true
  LEFT JOIN LATERAL (SELECT c.ends_at, ${levelOfState("c")} AS level ${cutsOf("i.agent")} AND c.ends_at < ${time("i.until")}
    ORDER BY c.ends_at DESC OFFSET i.segments - 1 LIMIT 1) before ON true
)
SELECT i.asked, i.total, ${ms("i.since")} AS since, i.level, i.turns_before AS "turnsBefore", b.*
FROM asked i LEFT JOIN LATERAL (${between("i.asked", "i.since", "i.until")}) b ON true`;

const NEXT_CUT = `SELECT ${ms("c.ends_at")} AS at ${cutsOf("$2")} AND c.ends_at >= ${time("$3")} ORDER BY c.ends_at OFFSET $4 LIMIT 1`;

const NEXT_RUN = `
WITH upto AS MATERIALIZED (
  SELECT (SELECT c.ends_at ${cutsOf("$2")} AND c.ends_at > ${time("$3")} ORDER BY c.ends_at OFFSET $4 LIMIT 1) AS ends_at
)
SELECT ${ms("i.ends_at")} AS upto, b.* FROM upto i LEFT JOIN LATERAL (${between("$2", time("$3"), "i.ends_at")}) b ON true`;

/**
 * Selects the active agents of some sessions. Parameters: the project, one for `where`, and the span's ends in epoch ms.
 * @param where a condition on the session `s`
 */
export function activeAgents(where: string): string {
  return `
SELECT a.number, s.harness, (SELECT count(*) FROM turn_blocks b WHERE b.project_id = $1 AND b.agent = a.number
  AND ${reachesInto("$3", "$4")})::int4 AS blocks
FROM sessions s
JOIN agents a ON a.project_id = $1 AND a.session_id = s.id AND a.last_at >= ${time("$3")} AND a.first_at < ${time("$4")}
WHERE s.project_id = $1 AND ${where}`;
}

/** Segments that one statement reads of a history that is read from its start. */
const SEGMENTS_AT_ONCE = 32;
/** Blocks that one statement reads, unless one agent alone has more. Up to 7 kB each. */
const BLOCKS_AT_ONCE = 250;
/** Milliseconds of unpacking after which other work gets its turn. */
const LONGEST_STRETCH_MS = 10;

/** Which turns of an agent to read: those of the segment that holds a time, and of the segments before it. */
export interface AskedRun {
  /** `agents.number`. */
  agent: number;
  /** Epoch ms, or infinity for the end of the history. */
  until: number;
  /** Number of segments, at least 1. */
  segments: number;
}

/** Turns of an agent from one cut to another. Every other turn of the agent is before all of them, or after all of them. */
export interface TurnRun {
  agent: number;
  /** Those that count, in no order. */
  turns: readonly TurnRow[];
  /** The cut before them in epoch ms; negative infinity at the start of the history. */
  since: number;
  /** Turns that count before them. */
  turnsBefore: number;
  /** The last level before them, in tokens. */
  levelBefore: number | undefined;
}

/** Runs of turns, read by one statement. Reads no block of another segment. */
export async function readTurnRuns(
  sql: Pick<Sql, "query">,
  projectId: number,
  asked: readonly AskedRun[],
): Promise<TurnRun[]> {
  const rows = await sql.query<RunRow>(
    RUNS,
    projectId,
    arrayLiteral(asked.map(({ agent }) => agent)),
    arrayLiteral(asked.map(({ until }) => until)),
    arrayLiteral(asked.map(({ segments }) => segments)),
  );
  const byAgent = new Map<number, RunRow[]>();
  for (const row of rows) {
    const known = byAgent.get(row.asked);
    if (known === undefined) byAgent.set(row.asked, [row]);
    else known.push(row);
  }
  const runs: TurnRun[] = [];
  for (const [agent, blocks] of byAgent) {
    const turns: TurnRow[] = [];
    for await (const some of unpacked(blocks)) for (const turn of some) turns.push(turn);
    const { since, total, turnsBefore, level } = blocks[0]!;
    runs.push({
      agent,
      turns,
      since: since ?? Number.NEGATIVE_INFINITY,
      // A run at the end of the history is counted from there, so it costs the same after any number of turns.
      turnsBefore: turnsBefore ?? (total ?? 0) - turns.length,
      levelBefore: level ?? undefined,
    });
  }
  return runs;
}

type RunRow = Record<string, unknown> & {
  asked: number;
  total: number | null;
  since: number | null;
  level: number | null;
  turnsBefore: number | null;
};

/** A cut of an agent at or after a time, the earliest first, in epoch ms; infinity if there are no more. */
export async function cutAfter(
  sql: Pick<Sql, "query">,
  projectId: number,
  { agent, at, skip }: { agent: number; at: number; skip: number },
): Promise<number> {
  const [row] = await sql.query<{ at: number }>(NEXT_CUT, projectId, agent, String(at), skip);
  return row?.at ?? Number.POSITIVE_INFINITY;
}

/**
 * The turns of an agent that count, from the first on: a run at a time, each after the one before. One statement a run, so a
 * history that changes meanwhile may lack turns.
 * @param keep which rows of a block are wanted, if others than the turns that count
 */
export async function* readHistoryInRuns(
  sql: Pick<Sql, "query">,
  projectId: number,
  agent: number,
  keep: KeptRows = countedTurns,
): AsyncGenerator<readonly TurnRow[]> {
  const read = (since: number) =>
    sql.query<NextRunRow>(NEXT_RUN, projectId, agent, String(since), SEGMENTS_AT_ONCE - 1);
  for (let rows = await read(Number.NEGATIVE_INFINITY); ; ) {
    const upto = rows[0]!.upto;
    const next = upto === null ? undefined : read(upto);
    // Awaited below; a failure meanwhile must not count as unhandled.
    next?.catch(() => {});
    const turns: TurnRow[] = [];
    for await (const some of unpacked(rows, keep)) for (const turn of some) turns.push(turn);
    yield turns;
    if (next === undefined) return;
    rows = await next;
  }
}

type NextRunRow = Record<string, unknown> & { upto: number | null };

/** The turns of some agents that count, in a span of time. Yields the turns of one block at a time. */
export async function* readTurnsBetween(
  sql: Pick<Sql, "query">,
  projectId: number,
  agents: readonly ActiveAgent[],
  { from, to }: TimeSpan,
): AsyncGenerator<readonly TurnRow[]> {
  const active = agents.filter(({ blocks }) => blocks > 0);
  for (const batch of inBatches(active, ({ blocks }) => blocks, BLOCKS_AT_ONCE)) {
    const numbers = arrayLiteral(batch.map(({ number }) => number));
    const rows = await sql.query<Record<string, unknown>>(BLOCKS_BETWEEN, projectId, numbers, from, to);
    for await (const turns of unpacked(rows)) yield turns.filter(({ at }) => at >= from && at < to);
  }
}

type KeptRows = (rows: readonly TurnRow[]) => readonly TurnRow[];

async function* unpacked(
  rows: readonly Record<string, unknown>[],
  keep: KeptRows = countedTurns,
): AsyncGenerator<readonly TurnRow[]> {
  let since = performance.now();
  for (const row of rows) {
    // A run without turns.
    if (row.data === null) continue;
    yield keep(unpackBlock(turnBlocks.parse(row)).rows);
    if (performance.now() - since < LONGEST_STRETCH_MS) continue;
    await new Promise(setImmediate);
    since = performance.now();
  }
}

/** Items in their order, divided so that each batch weighs at most `most`. A heavier item is a batch of its own. */
export function inBatches<Item>(
  items: readonly Item[],
  weightOf: (item: Item) => number,
  most: number,
): Item[][] {
  const batches: Item[][] = [];
  let weight = Number.POSITIVE_INFINITY;
  for (const item of items) {
    const more = weightOf(item);
    if (weight + more > most) {
      batches.push([]);
      weight = 0;
    }
    batches.at(-1)!.push(item);
    weight += more;
  }
  return batches;
}
