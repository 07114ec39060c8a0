import { Prisma } from "../db/client.ts";
import { slotOf } from "../db/tables/buckets.ts";
import type { Reader } from "../lines/reader.ts";
import type { Span } from "../times.ts";

/**
 * How many sessions were active in a span, and how many of them crossed their warning in it. Those that lie in it as a
 * whole are counted in the index alone; only those that may reach over one of its ends are looked into. Their three kinds
 * are asked for one by one, because only so does each of them read nothing else.
 */
export function activeSessions(projectId: number, span: Span, ofHarness: Prisma.Sql): Prisma.Sql {
  const from = new Date(span.from);
  const to = new Date(span.to);
  const first = slotOf(span.from);
  const last = slotOf(span.to);
  const within = Prisma.sql`project_id = ${projectId} AND last_slot > ${first} AND last_slot < ${last}`;
  const ends = [
    Prisma.sql`project_id = ${projectId} AND last_slot = ${first}`,
    Prisma.sql`${within} AND first_slot <= ${first}`,
    Prisma.sql`project_id = ${projectId} AND last_slot >= ${Math.max(last, first + 1)} AND first_slot <= ${last}`,
  ].map(
    (where) =>
      Prisma.sql`SELECT id, first_at, last_at, warned FROM sessions WHERE ${where} AND deleted_at IS NULL ${ofHarness}`,
  );
  const counted = Prisma.sql`SELECT count(*) AS sessions, count(*) FILTER (WHERE warned) AS warned FROM sessions`;
  // Whether a session is deleted is not in the index, so those are counted by themselves and taken away.
  return Prisma.sql`
    SELECT (whole.sessions - hidden.sessions + ends.sessions)::int4 AS sessions,
      (whole.warned - hidden.warned + ends.warned)::int4 AS warned
    FROM (
      ${counted} WHERE ${within} AND first_slot > ${first} ${ofHarness}
    ) whole CROSS JOIN (
      ${counted} WHERE ${within} AND first_slot > ${first} ${ofHarness} AND deleted_at IS NOT NULL
    ) hidden CROSS JOIN (
      SELECT count(*) AS sessions, count(*) FILTER (WHERE s.warned AND (
          (s.first_at >= ${from} AND s.last_at < ${to}) OR EXISTS (
            SELECT 1 FROM crossings c WHERE c.project_id = ${projectId} AND c.session_id = s.id
              AND c.threshold = 'warning' AND c.up AND c.at >= ${from} AND c.at < ${to}))) AS warned
      FROM (${Prisma.join(ends, " UNION ALL ")}) s WHERE s.last_at >= ${from} AND s.first_at < ${to}
    ) ends`;
}

/** Sessions active in a span, and those of them that crossed their warning in it. */
export async function countActiveSessions(
  { prisma, projectId }: Reader,
  span: Span,
  harness: string | undefined,
): Promise<{ sessions: number; warned: number }> {
  const ofHarness = harness === undefined ? Prisma.empty : Prisma.sql`AND harness = ${harness}`;
  const [row] = await prisma.$queryRaw<{ sessions: number; warned: number }[]>`
    ${activeSessions(projectId, span, ofHarness)}`;
  return row ?? { sessions: 0, warned: 0 };
}
