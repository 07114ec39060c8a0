import { type AutomaticFall, distinctFalls } from "@plimsoll/fold";
import type { WindowSource } from "@plimsoll/protocol/events";
import { Prisma } from "../db/client.ts";
import { queriesOf } from "../db/sql.ts";
import { binaryArray } from "../db/tables/binary-arrays.ts";
import { sourceOf, unpackFacets } from "../db/tables/codes.ts";
import { turnBlocks, unpackBlock } from "../db/tables/turn-blocks.ts";
import { countedTurns, levelOf, type TurnRow } from "../db/tables/turns.ts";
import type { Reader } from "../lines/reader.ts";

/** A compaction that a harness began by itself, and what its agent was at. Times in epoch ms. */
export interface FallOfAgent extends AutomaticFall {
  harness: string;
  model: string;
  windowTokens: number | undefined;
  windowSource: WindowSource;
  isSubAgent: boolean;
  /** The first event of its session. */
  sessionFrom: number;
}

/** The latest compactions of a project that are looked at. */
const MOST_LOOKED_AT = 2_000;
/** Of these, the latest of each harness, model and kind of agent, and the latest of all. Each costs a block of turns. */
const MOST_ALIKE = 20;
const MOST_FALLS = 400;
/** Blocks that are unpacked at a time, which takes some milliseconds. */
const BLOCKS_AT_ONCE = 40;

interface FallRow {
  agent: number;
  at: number;
  tokens: number;
  /** Whether the harness stated the level, so that it is no estimate of an earlier turn. */
  stated: boolean;
  harness: string;
  model: string | null;
  windowTokens: number | null;
  windowSource: number;
  isSubAgent: boolean;
  sessionFrom: number;
}

/**
 * The latest compactions since a time (epoch ms) that harnesses began by themselves. Those that a person or the guard began, and
 * those whose level is an estimate, are left out.
 */
export async function readAutomaticFalls(
  reader: Reader,
  since: number,
  harness: string | undefined,
): Promise<FallOfAgent[]> {
  const distinct = latestOf(distinctFalls(await readFalls(reader, since, harness)));
  const turns = await readTurnsBefore(reader, distinct);
  const models = await modelNames(reader, turns);
  return distinct.flatMap((fall, index) => {
    const { harness, isSubAgent, sessionFrom, at, tokens, stated } = fall;
    const turn = turns[index];
    if (turn === undefined) {
      if (!stated || fall.model === null) return [];
      return {
        harness,
        isSubAgent,
        sessionFrom,
        at,
        tokens,
        model: fall.model,
        windowTokens: fall.windowTokens ?? undefined,
        windowSource: sourceOf(fall.windowSource),
      };
    }
    const { estimated, windowSource } = unpackFacets(turn.facets);
    const model = models.get(turn.modelId);
    if (model === undefined || (estimated && !stated)) return [];
    return {
      harness,
      isSubAgent,
      sessionFrom,
      at,
      tokens,
      model,
      windowTokens: turn.windowTokens,
      windowSource,
    };
  });
}

/** An agent with its compactions. */
interface OwnerRow extends Omit<FallRow, "at" | "tokens" | "stated"> {
  falls: [at: number, tokens: number, stated: boolean][];
}

async function readFalls(
  { prisma, projectId }: Reader,
  since: number,
  harness: string | undefined,
): Promise<FallRow[]> {
  const ofHarness = harness === undefined ? Prisma.empty : Prisma.sql`AND harness = ${harness}`;
  // Each agent is looked up once, by OFFSET 0: the planner does not know how few there are.
  const owners = await prisma.$queryRaw<OwnerRow[]>`
    SELECT i.falls, a.*, s.* FROM (
      SELECT agent_id, json_agg(json_build_array((extract(epoch FROM at) * 1000)::float8, tokens_before,
        detail->>'tokens_before' IS NOT NULL)) AS falls
      FROM (
        SELECT agent_id, at, tokens_before, detail FROM boundaries
        WHERE project_id = ${projectId} AND type = 'compacted' AND at >= ${new Date(since)}
        ORDER BY at DESC LIMIT ${MOST_LOOKED_AT}
      ) b WHERE detail->>'trigger' = 'auto' AND tokens_before > 0 GROUP BY agent_id
    ) i CROSS JOIN LATERAL (
      SELECT session_id, number AS agent, model, current_window AS "windowTokens", window_source AS "windowSource",
        parent IS NOT NULL AS "isSubAgent"
      FROM agents WHERE project_id = ${projectId} AND id = i.agent_id OFFSET 0
    ) a CROSS JOIN LATERAL (
      SELECT harness, (extract(epoch FROM first_at) * 1000)::float8 AS "sessionFrom"
      FROM sessions WHERE project_id = ${projectId} AND id = a.session_id AND deleted_at IS NULL ${ofHarness} OFFSET 0
    ) s`;
  return owners.flatMap(({ falls, ...owner }) =>
    falls.map(([at, tokens, stated]) => ({ ...owner, at, tokens, stated })),
  );
}

/** The latest falls, and of falls alike only some. */
function latestOf(falls: readonly FallRow[]): FallRow[] {
  const alike = new Map<string, number>();
  return [...falls]
    .sort((one, other) => other.at - one.at || one.agent - other.agent)
    .filter(({ harness, model, isSubAgent }) => {
      const key = JSON.stringify([harness, model, isSubAgent]);
      const count = (alike.get(key) ?? 0) + 1;
      alike.set(key, count);
      return count <= MOST_ALIKE;
    })
    .slice(0, MOST_FALLS);
}

// Blocks may overlap in time, and a new one often holds a single turn, which may be the call that compacted.
const BLOCKS_BEFORE = `
WITH found AS MATERIALIZED (
  SELECT DISTINCT b.agent, b.first_at, b.first_key FROM unnest($2::int4[], $3::timestamptz[]) AS i(agent, at)
  CROSS JOIN LATERAL (
    SELECT agent, first_at, first_key FROM turn_blocks WHERE project_id = $1 AND agent = i.agent AND first_at <= i.at
    ORDER BY first_at DESC, first_key DESC LIMIT 2) b
)
SELECT ${turnBlocks.select("t")} FROM found i JOIN turn_blocks t
ON t.project_id = $1 AND t.agent = i.agent AND t.first_at = i.first_at AND t.first_key = i.first_key`;

/** The latest counted turn before each of some times; undefined if there is none. */
async function readTurnsBefore(
  reader: Reader,
  places: readonly { agent: number; at: number }[],
): Promise<(TurnRow | undefined)[]> {
  if (places.length === 0) return [];
  const blocks = await queriesOf(reader).query<Record<string, unknown>>(
    BLOCKS_BEFORE,
    reader.projectId,
    binaryArray("int4", "agent", places, ({ agent }) => agent),
    binaryArray("time", "at", places, ({ at }) => at),
  );
  const turns = new Map<number, TurnRow[]>();
  for (const [index, block] of blocks.entries()) {
    if (index % BLOCKS_AT_ONCE === 0) await new Promise(setImmediate);
    const { agent, rows } = unpackBlock(turnBlocks.parse(block));
    const levels = countedTurns(rows).filter((row) => levelOf(row) !== undefined);
    turns.set(agent, [...(turns.get(agent) ?? []), ...levels]);
  }
  for (const own of turns.values()) own.sort((one, other) => one.at - other.at);
  return places.map(({ agent, at }) => turns.get(agent)?.findLast((turn) => turn.at <= at));
}

async function modelNames(
  { prisma, projectId }: Reader,
  turns: readonly (TurnRow | undefined)[],
): Promise<Map<number, string>> {
  const ids = new Set(turns.flatMap((turn) => (turn === undefined ? [] : [turn.modelId])));
  if (ids.size === 0) return new Map();
  const models = await prisma.model.findMany({ where: { projectId, id: { in: [...ids] } } });
  return new Map(models.map(({ id, name }) => [id, name]));
}
