import { binaryArray } from "./binary-arrays.ts";
import { packKeys, packTurns, unpackTurns } from "./packed-turns.ts";
import { defineTable, type RowOf, type Statement } from "./table.ts";
import type { TurnRow } from "./turns.ts";

/**
 * Turns of an agent that stand together in its history, packed. The blocks of an agent share no turn, and none reaches
 * over a cut in the history; their times may overlap.
 */
export const turnBlocks = defineTable("turn_blocks", ["agent", "firstAt", "firstKey"], {
  /** `agents.number`. */
  agent: "int4",
  /** The earliest time in the block. */
  firstAt: "time",
  /** The key of its first turn. */
  firstKey: "decimal",
  /** The latest time in the block. */
  lastAt: "time",
  /** Their number. */
  turns: "int4",
  /** Eight bytes a turn; see packed-turns.ts. */
  keys: "bytea",
  data: "bytea",
});

export type TurnBlockRow = RowOf<typeof turnBlocks>;

/** What identifies a block. */
export type BlockKey = Pick<TurnBlockRow, "agent" | "firstAt" | "firstKey">;

/** A block in memory. */
export interface TurnBlock extends BlockKey {
  rows: readonly TurnRow[];
}

/** The blocks of an agent that begin in a span of time, both ends included. Epoch ms. */
export interface BlockStretch {
  agent: number;
  from: number;
  to: number;
}

/** Most turns in one block. */
export const BLOCK_TURNS = 256;

/** Blocks of one agent's turns, in the order given. */
export function blocksOf(rows: readonly TurnRow[]): TurnBlock[] {
  const blocks: TurnBlock[] = [];
  for (let from = 0; from < rows.length; from += BLOCK_TURNS) {
    const part = rows.length <= BLOCK_TURNS ? rows : rows.slice(from, from + BLOCK_TURNS);
    const { agent, key } = part[0]!;
    blocks.push({ agent, firstAt: earliest(part), firstKey: key, rows: part });
  }
  return blocks;
}

export function packBlock({ rows, agent, firstAt, firstKey }: TurnBlock): TurnBlockRow {
  const lastAt = latest(rows);
  return {
    agent,
    firstAt,
    firstKey,
    lastAt,
    turns: rows.length,
    keys: packKeys(rows),
    data: packTurns(rows),
  };
}

export function unpackBlock({ agent, firstAt, firstKey, keys, data }: TurnBlockRow): TurnBlock {
  return { agent, firstAt, firstKey, rows: unpackTurns(agent, keys, data) };
}

/** A turn that may be stored. `at` in epoch ms. */
export interface TurnAt {
  agent: number;
  key: string;
  at: number;
}

/** The blocks that hold some turns, among those that reach over the turn's time or among all blocks of its agent. */
export function findBlocks(
  projectId: number,
  turns: readonly TurnAt[],
  where: "at_its_time" | "anywhere",
): Statement {
  return {
    text: FIND_BLOCKS[where],
    values: [
      projectId,
      binaryArray("int4", "agent", turns, ({ agent }) => agent),
      binaryArray("decimal", "key", turns, ({ key }) => key),
      binaryArray("time", "at", turns, ({ at }) => at),
    ],
  };
}

// The bytes of a key may also begin in the middle of another one: the caller looks at the keys again.
const findText = (time: string) => `
WITH found AS MATERIALIZED (
  SELECT DISTINCT b.agent, b.first_at, b.first_key FROM unnest($2::int4[], $3::int8[], $4::timestamptz[]) AS i(agent, key, at)
  CROSS JOIN LATERAL (
    SELECT b.agent, b.first_at, b.first_key FROM turn_blocks b
    WHERE b.project_id = $1 AND b.agent = i.agent ${time} AND position(int8send(i.key) IN b.keys) > 0 OFFSET 0) b
)
SELECT t.* FROM found i CROSS JOIN LATERAL (
  SELECT ${turnBlocks.select("t")} FROM turn_blocks t
  WHERE t.project_id = $1 AND t.agent = i.agent AND t.first_at = i.first_at AND t.first_key = i.first_key OFFSET 0) t`;

const FIND_BLOCKS = {
  at_its_time: findText("AND b.first_at <= i.at AND b.last_at >= i.at"),
  anywhere: findText(""),
};

/** Joins the blocks of each stretch into one. */
export function joinBlocks(projectId: number, stretches: readonly BlockStretch[]): Statement {
  return {
    text: JOIN_BLOCKS,
    values: [
      projectId,
      binaryArray("int4", "agent", stretches, ({ agent }) => agent),
      binaryArray("time", "from", stretches, ({ from }) => from),
      binaryArray("time", "to", stretches, ({ to }) => to),
    ],
  };
}

const JOIN_BLOCKS = `
WITH stretches AS (
  SELECT * FROM unnest($2::int4[], $3::timestamptz[], $4::timestamptz[]) AS r(agent, since, until)
), gone AS (
  DELETE FROM turn_blocks b USING stretches s
  WHERE b.project_id = $1 AND b.agent = s.agent AND b.first_at >= s.since AND b.first_at <= s.until
  RETURNING s.since, b.*
)
INSERT INTO turn_blocks (project_id, agent, first_at, first_key, last_at, turns, keys, data)
SELECT $1, agent, min(first_at), (array_agg(first_key ORDER BY first_at, first_key))[1], max(last_at), sum(turns),
  string_agg(keys, '' ORDER BY first_at, first_key), string_agg(data, '' ORDER BY first_at, first_key)
FROM gone GROUP BY agent, since`;

function earliest(rows: readonly TurnRow[]): number {
  let at = Number.POSITIVE_INFINITY;
  for (const row of rows) if (row.at < at) at = row.at;
  return at;
}

function latest(rows: readonly TurnRow[]): number {
  let at = Number.NEGATIVE_INFINITY;
  for (const row of rows) if (row.at > at) at = row.at;
  return at;
}
