import { RECENT_LEVELS, type RecentLevels } from "@plimsoll/protocol/api";
import type { BoundaryType } from "@plimsoll/protocol/events";
import { queriesOf } from "../db/sql.ts";
import { arrayLiteral } from "../db/tables/binary-arrays.ts";
import { turnBlocks, unpackBlock } from "../db/tables/turn-blocks.ts";
import { numberTurns } from "../db/tables/turn-order.ts";
import { countedTurns, levelOf, type TurnRow } from "../db/tables/turns.ts";
import type { Reader } from "../lines/reader.ts";

/** A counted turn. `at` in epoch ms. */
export interface LevelAt {
  at: number;
  tokens: number;
  /** Tokens of its answer. */
  output: number | undefined;
}

/** A boundary. `at` in epoch ms. */
export interface FallAt {
  type: BoundaryType;
  at: number;
}

// The newest blocks of each agent that together hold enough turns. New blocks often hold one turn.
const NEWEST_BLOCKS = `
SELECT ${turnBlocks.select("b")} FROM unnest($2::int4[]) AS i(agent) CROSS JOIN LATERAL (
  SELECT n.* FROM (
    SELECT t.*, sum(t.turns) OVER (ORDER BY t.first_at DESC, t.first_key DESC) - t.turns AS newer FROM (
      SELECT * FROM turn_blocks WHERE project_id = $1 AND agent = i.agent
      ORDER BY first_at DESC, first_key DESC LIMIT ${RECENT_LEVELS}) t
  ) n WHERE n.newer < ${RECENT_LEVELS}
) b`;

/**
 * The latest levels of some agents, oldest first, by `agents.number`. One statement for all of them.
 */
export async function readRecentLevels(
  reader: Pick<Reader, "prisma" | "projectId">,
  agents: readonly number[],
): Promise<Map<number, LevelAt[]>> {
  if (agents.length === 0) return new Map();
  const blocks = await queriesOf(reader).query<Record<string, unknown>>(
    NEWEST_BLOCKS,
    reader.projectId,
    arrayLiteral(agents),
  );
  const turns = new Map<number, TurnRow[]>();
  for (const block of blocks) {
    const { agent, rows } = unpackBlock(turnBlocks.parse(block));
    const own = turns.get(agent);
    const counted = countedTurns(rows);
    if (own === undefined) turns.set(agent, [...counted]);
    else own.push(...counted);
  }
  return new Map([...turns].map(([agent, rows]) => [agent, latestLevels(rows)]));
}

function latestLevels(rows: readonly TurnRow[]): LevelAt[] {
  return numberTurns(rows)
    .flatMap(({ turn }) => {
      const tokens = levelOf(turn);
      return tokens === undefined ? [] : [{ at: turn.at, tokens, output: turn.outputTokens }];
    })
    .slice(-RECENT_LEVELS);
}

/** The levels with the falls among them. A boundary that no turn has followed yet is left out. */
export function recentLevels(levels: readonly LevelAt[], falls: readonly FallAt[]): RecentLevels {
  const first = levels[0]?.at ?? Number.POSITIVE_INFINITY;
  const marks = new Map<number, BoundaryType>();
  for (const { type, at } of falls) {
    if (at < first) continue;
    const index = levels.findIndex((level) => level.at >= at);
    // Of several boundaries before one turn, the newest comes first.
    if (index >= 0 && !marks.has(index)) marks.set(index, type);
  }
  return {
    levels: levels.map(({ tokens }) => tokens),
    falls: [...marks].sort(([one], [other]) => one - other).map(([index, type]) => ({ index, type })),
  };
}
