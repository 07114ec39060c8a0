import { AUDIT_TOPICS, type AuditEntryView, type AuditPage, type AuditQuery } from "@plimsoll/protocol/api";
import { Prisma, type PrismaClient } from "../db/client.ts";
import { decodeCursor, encodeCursor, foreignCursor } from "./sessions.ts";

/** Whose entries a caller may see. */
export type AuditReach =
  | { everything: true }
  /** Entries of one project, without the addresses of persons. */
  | { everything: false; projectId: number };

interface Row {
  id: string;
  at: Date;
  action: string;
  actor: string;
  actorId: string | null;
  actorName: string | null;
  address: string | null;
  project: number | null;
  projectName: string | null;
  target: string | null;
  detail: string | null;
  count: number;
}

/**
 * Entries of the audit log, newest first.
 * @throws PlimsollError `bad_request` for a cursor of another query
 */
export async function readEntries(
  prisma: Pick<PrismaClient, "$queryRaw">,
  reach: AuditReach,
  query: AuditQuery,
): Promise<AuditPage> {
  const rows = await prisma.$queryRaw<Row[]>`
    SELECT e.id, e.at, e.action, e.actor, e.actor_id AS "actorId", e.actor_name AS "actorName", e.address, e.project,
      p.name AS "projectName", e.target, e.detail, e.count
    FROM audit_entries e LEFT JOIN projects p ON p.id = e.project AND p.deleting_at IS NULL
    WHERE ${Prisma.join(conditions(reach, query), " AND ")}
    ORDER BY e.at DESC, e.id DESC LIMIT ${query.limit + 1}`;
  const page = rows.slice(0, query.limit);
  const last = page.at(-1);
  return {
    items: page.map((row) => viewOf(row, reach)),
    next_cursor:
      rows.length > query.limit && last !== undefined
        ? encodeCursor(String(last.at.getTime()), last.id)
        : null,
  };
}

function conditions(reach: AuditReach, { action, topic, from, to, cursor }: AuditQuery): Prisma.Sql[] {
  const parts = [Prisma.sql`true`];
  if (!reach.everything) parts.push(Prisma.sql`e.project = ${reach.projectId}`);
  if (action !== undefined) parts.push(Prisma.sql`e.action = ${action}`);
  if (topic !== undefined) parts.push(Prisma.sql`e.action IN (${Prisma.join([...AUDIT_TOPICS[topic]])})`);
  if (from !== undefined) parts.push(Prisma.sql`e.at >= ${new Date(from)}`);
  if (to !== undefined) parts.push(Prisma.sql`e.at < ${new Date(to)}`);
  if (cursor !== undefined) {
    const { value, id } = decodeCursor(cursor);
    if (!/^\d{1,14}$/.test(value)) throw foreignCursor();
    parts.push(Prisma.sql`(e.at, e.id) < (${new Date(Number(value))}, ${id}::uuid)`);
  }
  return parts;
}

function viewOf(row: Row, reach: AuditReach): AuditEntryView {
  return {
    id: row.id,
    at: row.at.toISOString(),
    action: row.action,
    actor: {
      kind: row.actor,
      id: row.actorId,
      name: row.actorName,
      address: reach.everything ? row.address : null,
    },
    project_id: row.project,
    project: row.projectName,
    target: row.target,
    detail: row.detail,
    count: row.count,
  };
}
