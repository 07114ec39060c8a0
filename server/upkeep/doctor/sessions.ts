import { BIN_WIDTH } from "@plimsoll/fold";
import { DEFAULT_AGENT } from "@plimsoll/protocol/events";
import type { Sql } from "../../db/sql.ts";
import { type AgentRow, agents } from "../../db/tables/agents.ts";
import { DESCRIBES_ITS_SESSION, NEWEST_FIRST } from "../../db/tables/boundaries.ts";
import { slotOf } from "../../db/tables/buckets.ts";
import { sessionId } from "../../db/tables/identity.ts";
import { type SessionRow, sessions } from "../../db/tables/sessions.ts";
import type { Check } from "./check.ts";
import { differingColumns } from "./differing-columns.ts";
import { walkIds } from "./walk.ts";

const ms = (time: string) => `(extract(epoch FROM ${time}) * 1000)::float8`;

const COUNT = "SELECT count(*)::float8 AS count FROM sessions WHERE project_id = $1";
const PAGE = `
SELECT ${sessions.select("t")}, t.kind, t.title, ${ms("t.meta_at")} AS "metaAt", ${ms("t.started_at")} AS "startedAt",
  ${ms("t.ended_at")} AS "endedAt", t.end_reason AS "endReason"
FROM sessions t WHERE t.project_id = $1 AND t.id > $2::uuid AND t.id <= $3::uuid ORDER BY t.id LIMIT $4`;
const SUMS = `
SELECT a.session_id AS id, count(*)::float8 AS agents, sum(a.turns)::float8 AS turns, sum(a.windows)::float8 AS windows,
  sum(a.masked)::float8 AS masked, sum(a.compacted)::float8 AS compacted, sum(a.subticks)::float8 AS subticks,
  sum(a.restarts)::float8 AS restarts, sum(a.cleared)::float8 AS cleared, sum(a.unexplained)::float8 AS unexplained,
  sum(a.reclaimed)::float8 AS reclaimed, sum(a.warnings)::float8 AS warnings, sum(a.prompt_tokens)::float8 AS "promptTokens",
  sum(a.cached_tokens)::float8 AS "cachedTokens", sum(a.estimated_tokens)::float8 AS "estimatedTokens",
  sum(a.cost_micros)::float8 AS "costMicros", sum(a.cost_turns)::float8 AS "costTurns",
  sum(a.estimated_cost_micros)::float8 AS "estimatedCostMicros", sum(a.estimated_cost_turns)::float8 AS "estimatedCostTurns", max(a.peak_tokens) AS "peakTokens",
  max(a.peak_utilization) AS "peakUtilization", ${ms("min(a.first_at)")} AS "firstAt",
  ${ms("max(a.last_at)")} AS "lastAt", ${ms("max(a.last_received_at)")} AS "lastReceivedAt",
  ${ms("min(a.first_received_at)")} AS "firstReceivedAt"
FROM agents a WHERE a.project_id = $1 AND a.session_id = ANY($2::uuid[]) GROUP BY a.session_id`;
const MAINS = `
SELECT DISTINCT ON (t.session_id) ${agents.select("t")} FROM agents t
WHERE t.project_id = $1 AND t.session_id = ANY($2::uuid[])
ORDER BY t.session_id, t.name = '${DEFAULT_AGENT}' DESC, t.parent IS NULL DESC, t.first_at, t.id`;
const EVENTS = `
SELECT b.session_id AS id, ${ms("b.at")} AS at, b.detail FROM boundaries b
WHERE b.project_id = $1 AND b.type = 'session' AND b.session_id = ANY($2::uuid[]) AND ${DESCRIBES_ITS_SESSION}
ORDER BY ${NEWEST_FIRST}`;

interface Description {
  kind: string | null | undefined;
  title: string | null | undefined;
  metaAt: number | null | undefined;
  startedAt: number | null | undefined;
  endedAt: number | null | undefined;
  endReason: string | null | undefined;
}

type StoredSession = SessionRow & Description;
type SessionSums = Omit<SessionRow, "id"> & { id: string };

interface SessionEvent {
  id: string;
  at: number;
  detail: { kind?: string; title?: string; status?: string; reason?: string };
}

/** Sums sessions over their agents again, and reads their title, kind and end from their events. */
export const sessionsCheck: Check = {
  name: "sessions are the sum of their agents",
  units: { plural: "sessions", done: "summed again" },
  weight: 1,
  size: 50,
  maxSize: 1_000,
  step({ connection, deadline, projectId }, position, size) {
    return connection.atOneMoment(deadline, async (sql) => {
      const total = position === undefined ? await sql.query<{ count: number }>(COUNT, projectId) : undefined;
      const { rows, next } = await walkIds(position, size, (after, through, limit) =>
        sql.query<StoredSession>(PAGE, projectId, after, through, limit),
      );
      const faults = await compareSessions(sql, projectId, rows);
      return { examined: rows.length, faults, next, ...(total && { of: total[0]!.count }) };
    });
  },
};

async function compareSessions(
  sql: Pick<Sql, "query">,
  projectId: number,
  rows: readonly StoredSession[],
): Promise<string[]> {
  const ids = rows.map(({ id }) => id);
  const sums = byId(await sql.query<SessionSums>(SUMS, projectId, ids));
  const mains = new Map(
    (await sql.query<AgentRow>(MAINS, projectId, ids)).map((main) => [main.sessionId, main]),
  );
  const events = new Map<string, SessionEvent[]>(ids.map((id) => [id, []]));
  for (const event of await sql.query<SessionEvent>(EVENTS, projectId, ids))
    events.get(event.id)!.push(event);
  const faults: string[] = [];
  for (const row of rows) {
    const sum = sums.get(row.id);
    const main = mains.get(row.id);
    const differences =
      sum === undefined || main === undefined
        ? ["agents (row missing)"]
        : differingColumns(
            "sessions",
            { ...row },
            {
              ...expectedSession(sum, main, descriptionOf(events.get(row.id) ?? [])),
              id: sessionId(projectId, row.harness, row.name),
            },
          );
    if (differences.length > 0)
      faults.push(`session ${row.name} of ${row.harness} (${differences.join(", ")})`);
  }
  return faults;
}

function expectedSession(sum: SessionSums, main: AgentRow, description: Description) {
  const { endedAt } = description;
  const ended = typeof endedAt === "number" && endedAt >= sum.lastAt;
  return {
    ...sum,
    ...description,
    mainAgent: main.id,
    model: main.model,
    currentTokens: main.currentTokens,
    currentWindow: main.currentWindow,
    load: main.load,
    firstSlot: slotOf(sum.firstAt),
    lastSlot: slotOf(sum.lastAt),
    openSlot: ended ? -1 : slotOf(sum.lastReceivedAt),
    peakBin: peakBin(sum.peakUtilization),
    warned: sum.warnings > 0,
  };
}

/** The newest event wins, field by field. `events` come newest first. */
function descriptionOf(events: readonly SessionEvent[]): Description {
  const newest = events[0];
  const status = events.find(({ detail }) => detail.status !== undefined)?.detail.status;
  return {
    kind: events.find(({ detail }) => detail.kind !== undefined)?.detail.kind,
    title: events.find(({ detail }) => (detail.title ?? "") !== "")?.detail.title,
    metaAt: newest?.at,
    startedAt: events.findLast(({ detail }) => detail.status === "started")?.at,
    endedAt: status === "ended" ? newest?.at : undefined,
    endReason: status === "ended" ? newest?.detail.reason : undefined,
  };
}

function peakBin(utilization: number | null | undefined): number {
  if (utilization === undefined || utilization === null) return -1;
  return Math.min(Math.floor(Math.fround(utilization) / BIN_WIDTH), 32_767);
}

function byId<Row extends { id: string }>(rows: readonly Row[]): Map<string, Row> {
  return new Map(rows.map((row) => [row.id, row]));
}
