import type { Sql } from "../db/sql.ts";
import { arrayLiteral } from "../store/binary-arrays.ts";
import { turnBlocks, unpackBlock } from "../store/turn-blocks.ts";
import { countedTurns, type TurnRow } from "../store/turns.ts";

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

const BLOCKS = `SELECT ${turnBlocks.select("b")} FROM turn_blocks b
WHERE b.project_id = $1 AND b.agent = ANY($2::int4[])`;
const ORDER = "ORDER BY b.agent, b.first_at, b.first_key";
const ALL_BLOCKS = `${BLOCKS} ${ORDER}`;
const BLOCKS_BETWEEN = `${BLOCKS} AND ${reachesInto("$3", "$4")} ${ORDER}`;

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

/** Blocks that one statement reads, unless one agent alone has more. Up to 7 kB each. */
const BLOCKS_AT_ONCE = 250;
/** Milliseconds of unpacking after which other work gets its turn. */
const LONGEST_STRETCH_MS = 10;

/**
 * All turns of some agents that count, read by one statement. Yields the turns of one block at a time, agent by agent.
 * @param agents `agents.number`
 */
export async function* readAllTurns(
  sql: Pick<Sql, "query">,
  projectId: number,
  agents: readonly number[],
): AsyncGenerator<readonly TurnRow[]> {
  yield* unpacked(await sql.query(ALL_BLOCKS, projectId, arrayLiteral(agents)));
}

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

async function* unpacked(rows: readonly Record<string, unknown>[]): AsyncGenerator<readonly TurnRow[]> {
  let since = performance.now();
  for (const row of rows) {
    yield countedTurns(unpackBlock(turnBlocks.parse(row)).rows);
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
