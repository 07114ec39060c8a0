import type { SessionPage, SessionSort, SessionsQuery } from "@plimsoll/protocol";
import { Prisma } from "../db/client.ts";
import { PlimsollError } from "../errors.ts";
import { LIVE_FOR, type Reader, spanOf } from "./reader.ts";
import { sessionRow } from "./views.ts";

const COLUMN: Record<SessionSort, { column: Prisma.Sql; type: Prisma.Sql }> = {
  last_at: { column: Prisma.sql`last_at`, type: Prisma.sql`timestamptz` },
  first_at: { column: Prisma.sql`first_at`, type: Prisma.sql`timestamptz` },
  load: { column: Prisma.sql`COALESCE(load, -1)`, type: Prisma.sql`float4` },
  peak_utilization: { column: Prisma.sql`COALESCE(peak_utilization, -1)`, type: Prisma.sql`float4` },
  turns: { column: Prisma.sql`turns`, type: Prisma.sql`int4` },
};

/** Sessions active in the range, one page at a time. */
export async function readSessions(reader: Reader, query: SessionsQuery): Promise<SessionPage> {
  const { prisma, projectId, now } = reader;
  const { column, type } = COLUMN[query.sort];
  const descending = query.order === "desc";
  const direction = descending ? Prisma.sql`DESC` : Prisma.sql`ASC`;
  const after = query.cursor === undefined ? undefined : decodeCursor(query.cursor);
  const past =
    after === undefined
      ? Prisma.empty
      : Prisma.sql`AND (${column}, id) ${descending ? Prisma.sql`<` : Prisma.sql`>`}
          (${after.value}::text::${type}, ${after.id}::uuid)`;
  const found = await prisma.$queryRaw<{ id: string; position: string }[]>`
    SELECT id, (${column})::text AS position FROM sessions
    WHERE project_id = ${projectId} ${filters(query, now)} ${past}
    ORDER BY ${column} ${direction}, id ${direction} LIMIT ${query.limit + 1}`;
  const page = found.slice(0, query.limit);
  const rows = await prisma.session.findMany({ where: { projectId, id: { in: page.map(({ id }) => id) } } });
  const byId = new Map(rows.map((row) => [row.id, row]));
  const last = page.at(-1);
  return {
    items: page.flatMap(({ id }) => {
      const row = byId.get(id);
      return row === undefined ? [] : [sessionRow(row, now)];
    }),
    next_cursor:
      found.length > query.limit && last !== undefined ? encodeCursor(last.position, last.id) : null,
  };
}

function filters(query: SessionsQuery, now: number): Prisma.Sql {
  const { from, to } = spanOf(query);
  const parts = [Prisma.sql`AND last_at >= ${new Date(from)} AND first_at < ${new Date(to)}`];
  if (query.harness !== undefined) parts.push(Prisma.sql`AND harness = ${query.harness}`);
  if (query.kind !== undefined) parts.push(Prisma.sql`AND kind = ${query.kind}`);
  if (query.status !== undefined) {
    const ended = Prisma.sql`(ended_at IS NOT NULL AND last_at <= ended_at)`;
    const since = new Date(now - LIVE_FOR);
    if (query.status === "ended") parts.push(Prisma.sql`AND ${ended}`);
    else if (query.status === "live")
      parts.push(Prisma.sql`AND NOT ${ended} AND last_received_at > ${since}`);
    else parts.push(Prisma.sql`AND NOT ${ended} AND last_received_at <= ${since}`);
  }
  for (const word of (query.q ?? "").split(/\s+/).filter(Boolean)) {
    const pattern = `%${word.replace(/[\\%_]/g, "\\$&")}%`;
    parts.push(Prisma.sql`AND (title ILIKE ${pattern} OR name ILIKE ${pattern} OR harness ILIKE ${pattern}
      OR model ILIKE ${pattern} OR id::text ILIKE ${pattern})`);
  }
  return Prisma.join(parts, " ");
}

export function encodeCursor(value: string, id: string): string {
  return Buffer.from(JSON.stringify([value, id])).toString("base64url");
}

export function decodeCursor(cursor: string): { value: string; id: string } {
  try {
    const [value, id] = JSON.parse(Buffer.from(cursor, "base64url").toString("utf8")) as unknown[];
    if (typeof value === "string" && typeof id === "string" && /^[0-9a-f-]{36}$/.test(id))
      return { value, id };
  } catch {
    // Falls through to the one error for every malformed cursor.
  }
  throw new PlimsollError("bad_request", "The cursor is not one this server gave: ask again without it.");
}
