import type { FallReason, SessionFilter } from "@plimsoll/protocol/api";
import { Prisma } from "../db/client.ts";
import { slotOf } from "../db/tables/buckets.ts";
import { DAY_MS, type Span, spanOf } from "../times.ts";
import { activeAtSql, LIVE_FOR } from "./liveness.ts";

/** The column of a session that counts its falls for a reason. */
const FALL_COLUMNS: Readonly<Record<FallReason, Prisma.Sql>> = {
  masked: Prisma.sql`s.masked`,
  compacted: Prisma.sql`s.compacted`,
  subtick: Prisma.sql`s.subticks`,
  restarted: Prisma.sql`s.restarts`,
  cleared: Prisma.sql`s.cleared`,
  unexplained: Prisma.sql`s.unexplained`,
};

export const ALL_FALLS = Prisma.join(Object.values(FALL_COLUMNS), " + ");

/** Above this, in ms, a range is taken to hold most sessions, so that an index of times saves nothing. */
const LONG_RANGE_MS = 90 * DAY_MS;

interface ConditionOptions {
  /** Epoch ms. */
  now: number;
  /** Whether the statement walks the index of times. */
  byTime: boolean;
}

/** The sessions `s` of a project that match a filter, as the condition of a statement. */
export function sessionCondition(
  projectId: number,
  filter: SessionFilter,
  { now, byTime }: ConditionOptions,
): Prisma.Sql {
  const span = spanOf(filter);
  const { from, to } = span;
  const parts = [
    Prisma.sql`s.project_id = ${projectId} AND s.deleted_at IS NULL AND s.last_at >= ${new Date(from)}
      AND s.first_at < ${new Date(to)}`,
  ];
  // A column at the end of the row, which costs a third of the time of reading it.
  if (byTime || to - from <= LONG_RANGE_MS) parts.push(Prisma.sql`s.last_slot >= ${slotOf(from)}`);
  if (filter.harness !== undefined) parts.push(Prisma.sql`s.harness = ${filter.harness}`);
  parts.push(...originConditions(filter));
  if (filter.model !== undefined) parts.push(Prisma.sql`s.model = ${filter.model}`);
  if (filter.kind !== undefined) parts.push(Prisma.sql`s.kind = ${filter.kind}`);
  if (filter.status !== undefined) parts.push(hasStatus(filter.status, now));
  if (filter.reason !== undefined) parts.push(fellFor(projectId, filter.reason, span));
  if (filter.warned !== undefined) parts.push(crossedWarning(projectId, span));
  if (filter.tag !== undefined)
    parts.push(Prisma.sql`s.id IN (
      SELECT t.session_id FROM session_tags t WHERE t.project_id = ${projectId} AND t.tag = ${filter.tag})`);
  for (const word of (filter.q ?? "").split(/\s+/).filter(Boolean)) {
    const pattern = `%${word.replace(/[\\%_]/g, "\\$&")}%`;
    parts.push(Prisma.sql`(s.title ILIKE ${pattern} OR s.name ILIKE ${pattern} OR s.harness ILIKE ${pattern}
      OR s.model ILIKE ${pattern} OR s.id::text ILIKE ${pattern})`);
  }
  return Prisma.join(parts, " AND ");
}

/** The conditions on sessions `s` that run in a place, or are somebody's. */
export function originConditions({
  machine,
  repository,
  branch,
  person,
}: Pick<SessionFilter, "machine" | "repository" | "branch" | "person">): Prisma.Sql[] {
  const parts: Prisma.Sql[] = [];
  if (machine !== undefined) parts.push(Prisma.sql`s.machine = ${machine}`);
  if (repository !== undefined) parts.push(Prisma.sql`s.repository = ${repository}`);
  if (branch !== undefined) parts.push(Prisma.sql`s.branch = ${branch}`);
  if (person !== undefined) parts.push(Prisma.sql`s.person_id = ${person}::uuid`);
  return parts;
}

function hasStatus(status: NonNullable<SessionFilter["status"]>, now: number): Prisma.Sql {
  const ended = Prisma.sql`(s.ended_at IS NOT NULL AND s.last_at <= s.ended_at)`;
  const since = new Date(now - LIVE_FOR);
  switch (status) {
    case "ended":
      return ended;
    case "live":
      return Prisma.sql`s.open_slot >= ${slotOf(now - LIVE_FOR)} AND NOT ${ended} AND ${activeAtSql("s")} > ${since}`;
    case "idle":
      return Prisma.sql`NOT ${ended} AND ${activeAtSql("s")} <= ${since}`;
  }
}

const liesWithin = ({ from, to }: Span) =>
  Prisma.sql`s.first_at >= ${new Date(from)} AND s.last_at < ${new Date(to)}`;

/** Only sessions that reach over an end of the range have to be looked into. */
function fellFor(projectId: number, reason: FallReason, span: Span): Prisma.Sql {
  return Prisma.sql`(${FALL_COLUMNS[reason]} > 0 AND ((${liesWithin(span)}) OR EXISTS (
    SELECT 1 FROM agents a JOIN boundaries b ON b.project_id = a.project_id AND b.agent_id = a.id
    WHERE a.project_id = ${projectId} AND a.session_id = s.id AND b.type = ${reason}
      AND b.at >= ${new Date(span.from)} AND b.at < ${new Date(span.to)})))`;
}

function crossedWarning(projectId: number, span: Span): Prisma.Sql {
  return Prisma.sql`(s.warned AND ((${liesWithin(span)}) OR EXISTS (
    SELECT 1 FROM crossings c WHERE c.project_id = ${projectId} AND c.session_id = s.id
      AND c.threshold = 'warning' AND c.up AND c.at >= ${new Date(span.from)} AND c.at < ${new Date(span.to)})))`;
}
