import type { RestartList, StatusQuery } from "@plimsoll/protocol/api";
import { Prisma } from "../db/client.ts";
import { slotOf } from "../db/tables/buckets.ts";
import type { FreshReader } from "../lines/reader.ts";
import { iso, spanOf } from "../times.ts";

const MOST_ROWS = 8;

/** Restarts in a range by harness and by the latest model of the agent. Only sessions with restarts are looked into. */
export async function readRestarts(
  { prisma, projectId }: FreshReader,
  query: StatusQuery,
): Promise<RestartList> {
  const { from, to } = spanOf(query);
  const ofHarness = query.harness === undefined ? Prisma.empty : Prisma.sql`AND s.harness = ${query.harness}`;
  const rows = await prisma.$queryRaw<
    { harness: string; model: string | null; count: number; total: number }[]
  >`
    SELECT s.harness, a.model, sum(n.count)::float8 AS count, (sum(sum(n.count)) OVER ())::float8 AS total
    FROM sessions s
    JOIN agents a ON a.project_id = ${projectId} AND a.session_id = s.id AND a.restarts > 0
    CROSS JOIN LATERAL (
      SELECT count(*) AS count FROM boundaries b
      WHERE b.project_id = ${projectId} AND b.agent_id = a.id AND b.type = 'restarted'
        AND b.at >= ${new Date(from)} AND b.at < ${new Date(to)}
    ) n
    WHERE s.project_id = ${projectId} AND s.last_slot >= ${slotOf(from)} AND s.last_at >= ${new Date(from)}
      AND s.first_at < ${new Date(to)} AND s.restarts > 0 ${ofHarness}
    GROUP BY s.harness, a.model HAVING sum(n.count) > 0
    ORDER BY count DESC, s.harness COLLATE "C", a.model COLLATE "C" LIMIT ${MOST_ROWS}`;
  const listed = rows.reduce((sum, { count }) => sum + count, 0);
  return {
    range: { from: iso(from), to: iso(to) },
    restarts: rows.map(({ total: _, ...row }) => row),
    others: (rows[0]?.total ?? 0) - listed,
  };
}
