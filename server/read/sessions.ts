import type {
  SessionCount,
  SessionFilter,
  SessionPage,
  SessionSort,
  SessionsQuery,
} from "@plimsoll/protocol/api";
import { Prisma } from "../db/client.ts";
import { isUnavailable } from "../db/unavailable.ts";
import { PlimsollError } from "../errors.ts";
import type { FreshReader, Reader } from "../lines/reader.ts";
import { spanOf } from "../times.ts";
import { countActiveSessions } from "./active-sessions.ts";
import { readAdditions } from "./session-additions.ts";
import { ALL_FALLS, sessionCondition } from "./session-filter.ts";
import { sessionRow } from "./views.ts";

interface SortKey {
  columns: Prisma.Sql[];
  types: Prisma.Sql[];
}

const int4 = Prisma.sql`int4`;
const int8 = Prisma.sql`int8`;
const float4 = Prisma.sql`float4`;
const time = Prisma.sql`timestamptz`;
/** Sorts the same in every database, and four times as fast as by the rules of a language. */
const plainText = (text: Prisma.Sql): SortKey => ({
  columns: [Prisma.sql`${text} COLLATE "C"`],
  types: [Prisma.sql`text`],
});

/**
 * What each sort compares, as one row of values: a coarse indexed column first where there is one, so that PostgreSQL
 * walks the index and sorts only within a slot; then the value itself; then the id.
 */
const SORT_KEYS: Record<SessionSort, SortKey> = {
  last_at: { columns: [Prisma.sql`s.last_slot`, Prisma.sql`s.last_at`], types: [int4, time] },
  first_at: { columns: [Prisma.sql`s.first_at`], types: [time] },
  // Cut, so that a cursor stays short; the id settles the rest.
  title: plainText(Prisma.sql`left(lower(COALESCE(s.title, s.name) COLLATE "C"), 60)`),
  harness: plainText(Prisma.sql`s.harness`),
  machine: plainText(Prisma.sql`COALESCE(s.machine, '')`),
  repository: plainText(Prisma.sql`COALESCE(s.repository, '')`),
  // By id: names are elsewhere. It brings the sessions of one person together.
  person: plainText(Prisma.sql`COALESCE(s.person_id::text, '')`),
  model: plainText(Prisma.sql`COALESCE(s.model, '')`),
  // Live sessions have the latest slots, ended ones none.
  status: { columns: [Prisma.sql`s.open_slot`, Prisma.sql`s.last_at`], types: [int4, time] },
  context_tokens: { columns: [Prisma.sql`COALESCE(s.current_tokens, -1)`], types: [int4] },
  load: { columns: [Prisma.sql`COALESCE(s.load, -1)`], types: [float4] },
  peak_utilization: {
    columns: [Prisma.sql`s.peak_bin`, Prisma.sql`COALESCE(s.peak_utilization, -1)`],
    types: [Prisma.sql`int2`, float4],
  },
  turns: { columns: [Prisma.sql`s.turns`], types: [int4] },
  boundaries: { columns: [Prisma.sql`(${ALL_FALLS})`], types: [int4] },
  warnings: { columns: [Prisma.sql`s.warnings`], types: [int4] },
  cost_usd: {
    columns: [
      Prisma.sql`CASE WHEN s.cost_turns + s.estimated_cost_turns = 0 THEN -1 ELSE s.cost_micros + s.estimated_cost_micros END`,
    ],
    types: [int8],
  },
  uncached_tokens: { columns: [Prisma.sql`s.prompt_tokens - s.cached_tokens`], types: [int8] },
};

/** Sessions active in the range, one page at a time. */
export async function readSessions(reader: FreshReader, query: SessionsQuery): Promise<SessionPage> {
  const { prisma, projectId, now } = reader;
  const { columns, types } = SORT_KEYS[query.sort];
  const descending = query.order === "desc";
  const direction = descending ? Prisma.sql`DESC` : Prisma.sql`ASC`;
  const after = query.cursor === undefined ? undefined : decodeCursor(query.cursor);
  const values = after === undefined ? [] : positionOf(after.value);
  if (after !== undefined && values.length !== types.length) throw foreignCursor();
  const key = Prisma.join(columns, ", ");
  const past =
    after === undefined
      ? Prisma.empty
      : Prisma.sql`AND (${key}, s.id) ${descending ? Prisma.sql`<` : Prisma.sql`>`}
          (${Prisma.join(
            types.map((type, index) => Prisma.sql`${values[index]}::text::${type}`),
            ", ",
          )}, ${after.id}::uuid)`;
  const order = Prisma.join(
    [...columns, Prisma.sql`s.id`].map((column) => Prisma.sql`${column} ${direction}`),
    ", ",
  );
  const position = Prisma.join(
    columns.map((column) => Prisma.sql`(${column})::text`),
    ", ",
  );
  const found = await prisma.$queryRaw<{ id: string; position: string }[]>`
    SELECT s.id, json_build_array(${position})::text AS position FROM sessions s
    WHERE ${sessionCondition(projectId, query, { now, byTime: query.sort === "last_at" })} ${past} ORDER BY ${order} LIMIT ${query.limit + 1}`.catch(
    (error) => {
      // A cursor of another sort holds values that are no values of this one.
      const foreign = error instanceof Prisma.PrismaClientKnownRequestError && !isUnavailable(error);
      if (after !== undefined && foreign) throw foreignCursor();
      throw error;
    },
  );
  const page = found.slice(0, query.limit);
  const last = page.at(-1);
  return {
    items: await readRows(
      reader,
      page.map(({ id }) => id),
    ),
    next_cursor:
      found.length > query.limit && last !== undefined ? encodeCursor(last.position, last.id) : null,
  };
}

/** Sessions by id, in the order of the ids. Those that do not exist are left out. */
export async function readRows(reader: Reader, ids: readonly string[]): Promise<SessionPage["items"]> {
  const { prisma, projectId, now } = reader;
  const [rows, additionsOf] = await Promise.all([
    prisma.session.findMany({ where: { projectId, id: { in: [...ids] } } }),
    readAdditions(reader, ids),
  ]);
  const byId = new Map(rows.map((row) => [row.id, row]));
  return ids.flatMap((id) => {
    const row = byId.get(id);
    return row === undefined ? [] : [sessionRow(row, additionsOf(id), now)];
  });
}

/** Sessions that are counted, except where an index alone tells the number. */
const MOST_COUNTED = 10_000;
/** Sessions that are searched for a text, which takes longer than all other filters. */
const MOST_SEARCHED = 10_000;

/** How many sessions match a filter. */
export async function countSessions(reader: FreshReader, filter: SessionFilter): Promise<SessionCount> {
  const { from, to, harness, warned, q, ...rest } = filter;
  if (q !== undefined && q.trim() !== "") return countFound(reader, filter);
  if (Object.values(rest).some((value) => value !== undefined)) return countMatching(reader, filter);
  const counted = await countActiveSessions(reader, spanOf({ from, to }), harness);
  return { sessions: warned === undefined ? counted.sessions : counted.warned, more: false };
}

async function countMatching(
  { prisma, projectId, now }: Reader,
  filter: SessionFilter,
): Promise<SessionCount> {
  const [row] = await prisma.$queryRaw<{ sessions: number }[]>`
    SELECT count(*)::int4 AS sessions FROM (
      SELECT 1 FROM sessions s WHERE ${sessionCondition(projectId, filter, { now, byTime: false })}
      LIMIT ${MOST_COUNTED + 1}) found`;
  const sessions = row?.sessions ?? 0;
  return { sessions: Math.min(sessions, MOST_COUNTED), more: sessions > MOST_COUNTED };
}

/** Searches only the latest sessions. */
async function countFound({ prisma, projectId, now }: Reader, filter: SessionFilter): Promise<SessionCount> {
  const options = { now, byTime: true };
  const [row] = await prisma.$queryRaw<{ sessions: number; searched: number }[]>`
    SELECT count(*) FILTER (WHERE ${sessionCondition(projectId, filter, options)})::int4 AS sessions,
      count(*)::int4 AS searched
    FROM (
      SELECT * FROM sessions s WHERE ${sessionCondition(projectId, { from: filter.from, to: filter.to }, options)}
      ORDER BY s.last_slot DESC LIMIT ${MOST_SEARCHED + 1}) s`;
  return { sessions: row?.sessions ?? 0, more: (row?.searched ?? 0) > MOST_SEARCHED };
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

/** The values of a sort, as `readSessions` wrote them. */
function positionOf(value: string): string[] {
  try {
    const values: unknown = JSON.parse(value);
    if (Array.isArray(values) && values.every((one) => typeof one === "string")) return values;
  } catch {
    // Falls through to the one error for every malformed cursor.
  }
  throw foreignCursor();
}

export function foreignCursor(): PlimsollError {
  return new PlimsollError("bad_request", "The cursor is not one this query gave: ask again without it.");
}
