import type pg from "pg";
import type { Logger } from "pino";
import { throwIfStopped } from "../stopped.ts";
import { type Columns, defineTable, type RowOf } from "../tables/table.ts";
import { BLOCK_TURNS, blocksOf, packBlock, turnBlocks, unpackBlock } from "../tables/turn-blocks.ts";
import type { TurnRow } from "../tables/turns.ts";

/** The columns of a table with a row for each turn, as turns were stored before migration 0011. */
export const TURN_COLUMNS = {
  agent: "int4",
  key: "decimal",
  at: "time",
  delay: "int4",
  modelId: "int4",
  windowIndex: "int4",
  windowTokens: "int4?",
  contextTokens: "int4?",
  inputTokens: "int4?",
  cacheRead: "int4?",
  cacheWrite: "int4?",
  outputTokens: "int4?",
  reasoning: "int4?",
  seq: "int4?",
  sentWindow: "int4?",
  sentLimit: "int4?",
  durationMs: "int4?",
  costMicros: "int4?",
  facets: "int2",
  composition: "int4[]?",
} as const satisfies Columns;

const turnsToPack = defineTable("turns_to_pack", ["agent", "key"], TURN_COLUMNS);

/** Turns that are read at a time. More than fit in a block, so that each page completes one. */
const PAGE_TURNS = 20 * BLOCK_TURNS;
/** Milliseconds between lines in the log. */
const LOG_INTERVAL = 3_000;

/** The last turn of a project that is packed; `at` in epoch ms. Turns are packed in order of agent, time and key. */
type Position = Pick<TurnRow, "agent" | "at" | "key">;

/** Before every turn. */
const START: Position = { agent: -(2 ** 31), at: 0, key: "0" };

// The first condition and the order are those of the index on time (migration 0009), so that a page is read in order.
const AT = "(timestamptz 'epoch' + $3::float8 * interval '1 ms')";
const slot = (time: string) => `date_bin('5 minutes', ${time}, '2000-01-01Z')`;
const READ_PAGE = `
  SELECT ${turnsToPack.select("t")} FROM turns_to_pack t
  WHERE t.project_id = $1 AND (t.agent, ${slot("t.at")}) >= ($2::int4, ${slot(AT)})
    AND (t.agent, t.at, t.key) > ($2::int4, ${AT}, $4::int8)
  ORDER BY t.agent, ${slot("t.at")}, t.at, t.key LIMIT ${PAGE_TURNS}`;

const READ_LAST_BLOCK = `
  SELECT ${turnBlocks.select("t")} FROM turn_blocks t
  WHERE t.project_id = $1 ORDER BY t.agent DESC, t.first_at DESC, t.first_key DESC LIMIT 1`;

/** Whether a migration left turns to pack. */
export async function turnsAreToPack(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query("SELECT to_regclass('turns_to_pack') IS NOT NULL AS there");
  return rows[0].there;
}

/**
 * Packs the turns in `turns_to_pack` into `turn_blocks` and drops the table. A process that is killed loses one page of
 * its work: call again. Nobody else may write these tables meanwhile.
 * @param options.signal ends the work between two pages
 * @throws PlimsollError `stopped` when the signal is given
 */
export async function packStoredTurns(
  client: pg.Client,
  { log, signal }: { log: Logger; signal: AbortSignal },
): Promise<void> {
  const counts = await client.query<{ packed: number; total: number }>(
    `SELECT (SELECT COALESCE(sum(turns), 0)::float8 FROM turn_blocks) AS packed,
      (SELECT count(*)::float8 FROM turns_to_pack) AS total`,
  );
  const { total } = counts.rows[0]!;
  let { packed } = counts.rows[0]!;
  let logged = Date.now();
  const projects = await client.query<{ id: number }>(
    "SELECT DISTINCT project_id AS id FROM turns_to_pack ORDER BY 1",
  );
  for (const { id } of projects.rows) {
    let position = await readPosition(client, id);
    for (;;) {
      throwIfStopped(signal);
      const page = await packPage(client, id, position);
      packed += page.length;
      if (Date.now() - logged >= LOG_INTERVAL) {
        logged = Date.now();
        log.info(`packed ${packed.toLocaleString("en")} of ${total.toLocaleString("en")} turns`);
      }
      if (page.length === 0) break;
      position = page.at(-1)!;
    }
  }
  await client.query("DROP TABLE turns_to_pack");
  log.info(`packed all ${total.toLocaleString("en")} turns`);
}

/** The last turn that an earlier process packed. */
async function readPosition(client: pg.Client, projectId: number): Promise<Position> {
  const { rows } = await client.query(READ_LAST_BLOCK, [projectId]);
  return rows.length === 0 ? START : unpackBlock(turnBlocks.parse(rows[0])).rows.at(-1)!;
}

/**
 * Packs some turns after a position with one statement, so either all of them are packed or none.
 * @returns the packed turns; none at the end of the project
 */
async function packPage(
  client: pg.Client,
  projectId: number,
  { agent, at, key }: Position,
): Promise<TurnRow[]> {
  const { rows } = await client.query(READ_PAGE, [projectId, agent, at, key]);
  if (rows.length === 0) return [];
  const turns = rows.map((raw) => turnRow(turnsToPack.parse(raw)));
  const blocks = splitAtCuts(turns, await readCuts(client, projectId, turns)).flatMap(blocksOf);
  // More turns of the last block may follow, so the next page begins with it.
  const whole = rows.length < PAGE_TURNS ? blocks : blocks.slice(0, -1);
  const { text, values } = turnBlocks.insert(projectId, whole.map(packBlock));
  await client.query(text, values);
  return whole.flatMap((block) => block.rows);
}

/** The cuts of the agents of some turns, in epoch ms and in order. */
async function readCuts(
  client: pg.Client,
  projectId: number,
  turns: readonly TurnRow[],
): Promise<Map<number, number[]>> {
  const cuts = new Map<number, number[]>(turns.map(({ agent }) => [agent, []]));
  const { rows } = await client.query(
    `SELECT agent, (extract(epoch FROM ends_at) * 1000)::float8 AS at FROM segments
     WHERE project_id = $1 AND agent = ANY($2) ORDER BY agent, ends_at`,
    [projectId, [...cuts.keys()]],
  );
  for (const { agent, at } of rows) cuts.get(agent)!.push(at);
  return cuts;
}

/** Parts of the turns that share an agent and lie between two of its cuts. The turns are in order of agent and time. */
function splitAtCuts(turns: readonly TurnRow[], cuts: ReadonlyMap<number, readonly number[]>): TurnRow[][] {
  const stretches: TurnRow[][] = [];
  let agent: number | undefined;
  /** Number of the agent's cuts before the turn. */
  let passed = 0;
  for (const turn of turns) {
    const ends = cuts.get(turn.agent)!;
    const before = turn.agent === agent ? passed : 0;
    passed = before;
    while (passed < ends.length && ends[passed]! < turn.at) passed += 1;
    if (turn.agent !== agent || passed > before) stretches.push([]);
    stretches.at(-1)!.push(turn);
    agent = turn.agent;
  }
  return stretches;
}

/** The driver gives missing parts of a composition as null. These turns name no witness. */
function turnRow(turn: RowOf<typeof turnsToPack>): TurnRow {
  const composition = turn.composition?.map((part) => part ?? undefined);
  return { ...turn, composition, provenance: undefined, limitClaims: undefined, otherWitnesses: undefined };
}
