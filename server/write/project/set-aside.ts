import type { Prisma } from "../../db/client.ts";

/** Rows read at most: anybody may ask, and many say no more than some. */
const MOST = 1_000;

/** Events that were acknowledged and cannot be projected, in all projects. */
export interface SetAside {
  events: number;
  /** Whether there may be more, also in other projects. */
  more: boolean;
  /** Ids, in order. */
  projects: number[];
}

export async function readSetAside(client: Prisma.TransactionClient): Promise<SetAside> {
  const rows = await client.$queryRaw<{ id: number; events: number }[]>`
    SELECT r.project_id AS id, count(*)::int4 AS events
    FROM (SELECT t.project_id FROM rejected_events t LIMIT ${MOST}::int4) r GROUP BY 1 ORDER BY 1`;
  const events = rows.reduce((sum, row) => sum + row.events, 0);
  return { events, more: events === MOST, projects: rows.map(({ id }) => id) };
}
