import type { SessionPage, SessionSort, SessionsQuery } from "@plimsoll/protocol";
import { Prisma } from "../db/client.ts";
import { isUnavailable } from "../db/unavailable.ts";
import { PlimsollError } from "../errors.ts";
import { slotOf } from "../store/buckets.ts";
import { type FreshReader, LIVE_FOR, spanOf } from "./reader.ts";
import { sessionRow } from "./views.ts";

/**
 * What each sort compares, as one row of values: a coarse indexed column first where there is one, so that PostgreSQL
 * walks the index and sorts only within a slot; then the value itself; then the id.
 */
const SORT_KEYS: Record<SessionSort, { columns: Prisma.Sql[]; types: Prisma.Sql[] }> = {
  last_at: {
    columns: [Prisma.sql`last_slot`, Prisma.sql`last_at`],
    types: [Prisma.sql`int4`, Prisma.sql`timestamptz`],
  },
  first_at: { columns: [Prisma.sql`first_at`], types: [Prisma.sql`timestamptz`] },
  load: { columns: [Prisma.sql`COALESCE(load, -1)`], types: [Prisma.sql`float4`] },
  peak_utilization: {
    columns: [Prisma.sql`peak_bin`, Prisma.sql`COALESCE(peak_utilization, -1)`],
    types: [Prisma.sql`int2`, Prisma.sql`float4`],
  },
  turns: { columns: [Prisma.sql`turns`], types: [Prisma.sql`int4`] },
};

/** Sessions active in the range, one page at a time. */
export async function readSessions(reader: FreshReader, query: SessionsQuery): Promise<SessionPage> {
  const { prisma, projectId, now } = reader;
  const { columns, types } = SORT_KEYS[query.sort];
  const descending = query.order === "desc";
  const direction = descending ? Prisma.sql`DESC` : Prisma.sql`ASC`;
  const after = query.cursor === undefined ? undefined : decodeCursor(query.cursor);
  const values = after?.value.split("|") ?? [];
  if (after !== undefined && values.length !== types.length) throw foreignCursor();
  const key = Prisma.join(columns, ", ");
  const past =
    after === undefined
      ? Prisma.empty
      : Prisma.sql`AND (${key}, id) ${descending ? Prisma.sql`<` : Prisma.sql`>`}
          (${Prisma.join(
            types.map((type, index) => Prisma.sql`${values[index] ?? ""}::text::${type}`),
            ", ",
          )}, ${after.id}::uuid)`;
  const order = Prisma.join(
    [...columns, Prisma.sql`id`].map((column) => Prisma.sql`${column} ${direction}`),
    ", ",
  );
  const found = await prisma.$queryRaw<{ id: string; position: string }[]>`
    SELECT id, concat_ws('|', ${key}) AS position FROM sessions
    WHERE project_id = ${projectId} AND deleted_at IS NULL ${filters(query, now)} ${past} ORDER BY ${order} LIMIT ${query.limit + 1}`.catch(
    (error) => {
      // A cursor of another sort holds values that are no values of this one.
      const foreign = error instanceof Prisma.PrismaClientKnownRequestError && !isUnavailable(error);
      if (after !== undefined && foreign) throw foreignCursor();
      throw error;
    },
  );
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
  const parts = [
    Prisma.sql`AND last_slot >= ${slotOf(from)} AND last_at >= ${new Date(from)} AND first_at < ${new Date(to)}`,
  ];
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
    if (
      typeof value === "string" &&
      typeof id === "string" &&
      /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(id)
    )
      return { value, id };
  } catch {
    // Falls through to the one error for every malformed cursor.
  }
  throw foreignCursor();
}

export function foreignCursor(): PlimsollError {
  return new PlimsollError("bad_request", "The cursor is not one this query gave: ask again without it.");
}
