import type { PrismaClient } from "../db/client.ts";
import { unpackAroundFalls, unpackOutcomes } from "../db/tables/agent-outcomes.ts";
import { unpackCalled } from "../db/tables/called-tools.ts";
import { PolicyBook } from "../lines/policy-book.ts";
import { readTimelines } from "../lines/reader-timelines.ts";
import { countsOf } from "../write/project/count-outcomes.ts";
import { EVERY_ROLLUP } from "./rollup-sums.ts";
import { sqlOfClient } from "./sql.ts";
import { storedTurns } from "./turns.ts";

/** What two databases must agree on: everything but when, and in how many batches, the server heard of it. */
const COLUMNS: Record<string, string> = {
  sessions: "to_jsonb(t) - 'last_received_at' - 'first_received_at' - 'version' - 'open_slot'",
  agents: `to_jsonb(t) - 'last_received_at' - 'first_received_at' - 'version' - 'number' - 'state' - 'uncounted' || jsonb_build_object(
    'state', t.state::jsonb->0, 'window', t.state::jsonb->1)`,
  harnesses: "to_jsonb(t) - 'last_received_at' - 'added_at'",
  windows: "to_jsonb(t)",
  boundaries: "to_jsonb(t) - 'received_at'",
  crossings: "to_jsonb(t)",
  agent_contents: "to_jsonb(t)",
  rollups: "to_jsonb(t) - 'stale'",
  boundary_rollups: "to_jsonb(t)",
  insight_rollups: "to_jsonb(t)",
  rollup_names: "to_jsonb(t)",
  quota_percents: "to_jsonb(t) - 'first_received_at' - 'last_received_at'",
};

/**
 * A name stays in the list although a later report gives the turn another model, or takes away the fall that the harness was
 * counted for.
 */
const IN_USE = `WHERE CASE WHEN t.model = '' THEN EXISTS (
  SELECT 1 FROM boundary_rollups b WHERE b.project_id = t.project_id AND b.harness = t.harness AND b.count > 0)
ELSE EXISTS (
  SELECT 1 FROM rollups r WHERE r.project_id = t.project_id AND r.harness = t.harness AND r.model = t.model AND r.turns > 0) END`;

/** Every row of the telemetry tables, in a stable order. Rollup rows that came back to nothing are left out. */
export async function dumpTables(
  prisma: PrismaClient,
  { counts = true }: { counts?: boolean } = {},
): Promise<Record<string, unknown[]>> {
  const dump: Record<string, unknown[]> = {};
  for (const [table, expression] of Object.entries(COLUMNS)) {
    const rows = await prisma.$queryRawUnsafe<{ row: Record<string, unknown> }[]>(
      `SELECT ${expression} AS row FROM ${table === "rollups" ? EVERY_ROLLUP : table} t ${table === "rollup_names" ? IN_USE : ""}`,
    );
    // Put in order as they are compared: a bin that came back to nothing must not move its row.
    dump[table] = sorted(
      rows.map(({ row }) => (table === "rollups" ? trimmed(row) : row)).filter((row) => !empty(table, row)),
    );
  }
  dump.turns = sorted(await readTurns(prisma));
  dump.outcomes = sorted(await countOutcomes(prisma));
  if (counts) {
    const turns = await prisma.$queryRawUnsafe<{ outcome: string; count: bigint }[]>(
      "SELECT outcome, sum(count)::int8 AS count FROM ingest_counts WHERE outcome IN ('turn', 'mark') GROUP BY 1 ORDER BY 1",
    );
    dump.ingest_counts = turns.map(({ outcome, count }) => ({ outcome, count: Number(count) }));
  }
  return dump;
}

/** One row a turn: how turns are divided into blocks depends on the batches. */
async function readTurns(prisma: PrismaClient): Promise<Record<string, unknown>[]> {
  const agents = await prisma.agent.findMany({ select: { projectId: true, number: true, id: true } });
  const ids = new Map(agents.map(({ projectId, number, id }) => [`${projectId}/${number}`, id]));
  return (await storedTurns(prisma)).map(({ delay, agent, ...turn }) => ({
    ...turn,
    agentId: ids.get(`${turn.projectId}/${agent}`),
  }));
}

/** What came of the calls of each agent of project 1, counted now: the server does so when the agent is quiet. */
async function countOutcomes(prisma: PrismaClient): Promise<Record<string, unknown>[]> {
  const [sql, projectId] = [sqlOfClient(prisma), 1];
  const agents = await sql.query<{ id: string; number: number; harness: string }>(
    `SELECT a.id::text, a.number, s.harness FROM agents a
    JOIN sessions s ON s.project_id = $1 AND s.id = a.session_id WHERE a.project_id = $1`,
    projectId,
  );
  const policy = await PolicyBook.read(sql, projectId);
  const harnesses = agents.map(({ harness }) => harness);
  const timelineOf = await readTimelines({ prisma, projectId, policy }, harnesses);
  const models = await prisma.model.findMany({ where: { projectId } });
  const names = new Map(models.map(({ id, name }) => [id, name]));
  return Promise.all(
    agents.map(async ({ id, number: agent, harness }) => {
      const source = { projectId, agent, timeline: timelineOf(harness), sinceFall: undefined };
      const counts = await countsOf(sql, { ...source, modelName: (model) => names.get(model) });
      const cells = [...unpackOutcomes(counts.cells)].map(([model, own]) => [names.get(model), own]);
      return {
        ...{ id, cells: Object.fromEntries(cells) },
        ...{ work: unpackAroundFalls(counts.work), wrong: unpackAroundFalls(counts.wrong) },
        called: unpackCalled(counts.called),
      };
    }),
  );
}

function sorted(rows: readonly Record<string, unknown>[]): Record<string, unknown>[] {
  return rows
    .map((row) => ({ row, text: JSON.stringify(row) }))
    .sort((a, b) => (a.text < b.text ? -1 : 1))
    .map(({ row }) => row);
}

function trimmed(row: Record<string, unknown>): Record<string, unknown> {
  const bins = [...(row.bins as number[])];
  while (bins.at(-1) === 0) bins.pop();
  return { ...row, bins };
}

function empty(table: string, row: Record<string, unknown>): boolean {
  return (table === "rollups" && row.turns === 0) || (table.endsWith("_rollups") && row.count === 0);
}

export async function emptyTables(prisma: PrismaClient): Promise<void> {
  await prisma.$executeRawUnsafe(
    `TRUNCATE ${[...Object.keys(COLUMNS), "ingest_counts", "removed_counts", "models", "machines", "observed_windows", "packed_minutes", "segments", "agent_outcomes", "turn_blocks", "journal", "projectors", "refolds", "rejected_events"].map((table) => `"${table}"`).join(", ")}`,
  );
}
