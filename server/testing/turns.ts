import type { PrismaClient } from "../db/client.ts";
import { blocksOf, packBlock, turnBlocks, unpackBlock } from "../db/tables/turn-blocks.ts";
import type { TurnRow } from "../db/tables/turns.ts";
import { sqlOfClient } from "./sql.ts";

export type StoredTurnRow = TurnRow & { projectId: number };

/** Every stored turn, by project, agent and time. */
export async function storedTurns(prisma: PrismaClient): Promise<StoredTurnRow[]> {
  const blocks = await prisma.$queryRawUnsafe<(Record<string, unknown> & { project_id: number })[]>(
    `SELECT t.project_id, ${turnBlocks.select("t")} FROM turn_blocks t`,
  );
  return blocks
    .flatMap(({ project_id: projectId, ...row }) =>
      unpackBlock(turnBlocks.parse(row)).rows.map((turn) => ({ ...turn, projectId })),
    )
    .sort(
      (a, b) => a.projectId - b.projectId || a.agent - b.agent || a.at - b.at || (a.key < b.key ? -1 : 1),
    );
}

export async function countTurns(prisma: PrismaClient): Promise<number> {
  const [row] = await prisma.$queryRawUnsafe<{ turns: number }[]>(
    "SELECT COALESCE(sum(turns), 0)::float8 AS turns FROM turn_blocks",
  );
  return row!.turns;
}

/** How many turns have each value of a field. */
export async function countTurnsBy(
  prisma: PrismaClient,
  field: keyof StoredTurnRow,
): Promise<Map<unknown, number>> {
  const counts = new Map<unknown, number>();
  for (const turn of await storedTurns(prisma)) counts.set(turn[field], (counts.get(turn[field]) ?? 0) + 1);
  return counts;
}

/** Stores turns of project 1 as they are, without what they change in other tables. */
export async function insertTurns(prisma: PrismaClient, turns: readonly TurnRow[]): Promise<void> {
  const agents = [...new Set(turns.map(({ agent }) => agent))];
  const blocks = agents.flatMap((agent) => blocksOf(turns.filter((turn) => turn.agent === agent)));
  const { text, values } = turnBlocks.insert(1, blocks.map(packBlock));
  await sqlOfClient(prisma).execute(text, ...values);
}

/**
 * Changes stored turns of project 1 behind the server's back.
 * @param change what replaces a turn: the same object keeps it, undefined deletes it
 * @returns the number of turns that were changed or deleted
 */
export async function editTurns(
  prisma: PrismaClient,
  change: (turn: TurnRow) => TurnRow | undefined,
): Promise<number> {
  const sql = sqlOfClient(prisma);
  const rows = await sql.query<Record<string, unknown>>(
    `SELECT ${turnBlocks.select("t")} FROM turn_blocks t WHERE t.project_id = 1`,
  );
  let edited = 0;
  for (const block of rows.map((row) => unpackBlock(turnBlocks.parse(row)))) {
    const turns = block.rows.map((before) => ({ before, after: change(before) }));
    const different = turns.filter(({ before, after }) => after !== before).length;
    if (different === 0) continue;
    edited += different;
    const { text, values } = turnBlocks.delete(1, [block]);
    await sql.execute(text, ...values);
    await insertTurns(
      prisma,
      turns.flatMap(({ after }) => after ?? []),
    );
  }
  return edited;
}
