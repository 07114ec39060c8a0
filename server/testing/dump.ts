import type { PrismaClient } from "../db/client.ts";

/** What two databases must agree on: everything but when, and in how many batches, the server heard of it. */
const COLUMNS: Record<string, string> = {
  sessions: "to_jsonb(t) - 'last_received_at' - 'version' - 'open_slot'",
  agents: `to_jsonb(t) - 'last_received_at' - 'version' - 'number' - 'state' || jsonb_build_object(
    'state', t.state::jsonb->0, 'window', t.state::jsonb->1)`,
  harnesses: "to_jsonb(t) - 'last_received_at'",
  windows: "to_jsonb(t)",
  turns: `to_jsonb(t) - 'delay' - 'agent' || jsonb_build_object('agent_id', (
    SELECT a.id FROM agents a WHERE a.project_id = t.project_id AND a.number = t.agent))`,
  boundaries: "to_jsonb(t) - 'received_at'",
  crossings: "to_jsonb(t)",
  rollups: "to_jsonb(t) - 'stale'",
  boundary_rollups: "to_jsonb(t)",
};

/** Every row of the telemetry tables, in a stable order. Rollup rows that came back to nothing are left out. */
export async function dumpTables(
  prisma: PrismaClient,
  { counts = true }: { counts?: boolean } = {},
): Promise<Record<string, unknown[]>> {
  const dump: Record<string, unknown[]> = {};
  for (const [table, expression] of Object.entries(COLUMNS)) {
    const rows = await prisma.$queryRawUnsafe<{ row: Record<string, unknown> }[]>(
      `SELECT ${expression} AS row FROM ${table} t`,
    );
    // Put in order as they are compared: a bin that came back to nothing must not move its row.
    dump[table] = rows
      .map(({ row }) => (table === "rollups" ? trimmed(row) : row))
      .filter((row) => !empty(table, row))
      .map((row) => ({ row, text: JSON.stringify(row) }))
      .sort((a, b) => (a.text < b.text ? -1 : 1))
      .map(({ row }) => row);
  }
  if (counts) {
    const turns = await prisma.$queryRawUnsafe<{ outcome: string; count: bigint }[]>(
      "SELECT outcome, sum(count)::int8 AS count FROM ingest_counts WHERE outcome IN ('turn', 'mark') GROUP BY 1 ORDER BY 1",
    );
    dump.ingest_counts = turns.map(({ outcome, count }) => ({ outcome, count: Number(count) }));
  }
  return dump;
}

function trimmed(row: Record<string, unknown>): Record<string, unknown> {
  const bins = [...(row.bins as number[])];
  while (bins.at(-1) === 0) bins.pop();
  return { ...row, bins };
}

function empty(table: string, row: Record<string, unknown>): boolean {
  return (table === "rollups" && row.turns === 0) || (table === "boundary_rollups" && row.count === 0);
}

export async function emptyTables(prisma: PrismaClient): Promise<void> {
  await prisma.$executeRawUnsafe(
    `TRUNCATE ${[...Object.keys(COLUMNS), "ingest_counts", "models", "segments", "journal", "projectors", "refolds", "rejected_events"].map((table) => `"${table}"`).join(", ")}`,
  );
}
