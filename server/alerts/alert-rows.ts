import type {
  AlertBoundary,
  AlertConditionType,
  AlertEndReason,
  AlertLabels,
  AlertLevel,
  AlertPhase,
  AlertSeverity,
  AlertState,
  GroupMemory,
  GroupTiming,
} from "@plimsoll/protocol/alerts";
import type { Sql } from "../db/sql.ts";
import { defineTable, type RowOf } from "../db/tables/table.ts";

/** The columns that the evaluator writes. */
const alerts = defineTable("alerts", ["id"], {
  id: "uuid",
  ruleId: "uuid",
  judgedVersion: "int4",
  subject: "text",
  phase: "text",
  place: "json",
  labels: "json",
  groupKey: "text",
  sessionId: "uuid?",
  startedAt: "time",
  pendingAt: "time",
  firedAt: "time?",
  clearAt: "time?",
  resolvedAt: "time?",
  endReason: "text?",
  facts: "json?",
});
type AlertRow = RowOf<typeof alerts>;

const groups = defineTable("alert_groups", ["key"], {
  key: "text",
  memory: "json",
  receivers: "json",
  nextAt: "time?",
});

/** What an alert is about. A part that does not apply is undefined. */
export interface AlertPlace {
  harness?: string | undefined;
  session?: string | undefined;
  sessionId?: string | undefined;
  agent?: string | undefined;
  agentId?: string | undefined;
  model?: string | undefined;
}

/** Why an alert fired, and what was seen of it last. */
export interface FiringFacts {
  rule: string;
  severity: AlertSeverity;
  condition: AlertConditionType;
  why: string;
  level: AlertLevel | null;
  boundaries: AlertBoundary[];
  /** The boundary that ended it. */
  endedBy?: AlertBoundary | undefined;
  path: string;
}

/** An alert in the memory of the evaluator. */
export interface OpenAlert {
  id: string;
  ruleId: string;
  judgedVersion: number;
  subject: string;
  place: AlertPlace;
  labels: AlertLabels;
  groupKey: string;
  state: AlertState;
  facts: FiringFacts | undefined;
  acknowledgedBy: string | undefined;
}

/** The endpoints of a group, and how often it notifies them. */
export interface GroupReceivers {
  endpoints: readonly string[];
  /** Endpoints that were told of a firing. */
  told: readonly string[];
  message: string | null;
  timing: GroupTiming;
}

export interface AlertGroupRow {
  key: string;
  memory: GroupMemory;
  receivers: GroupReceivers;
  /** Epoch ms. */
  nextAt: number | undefined;
}

const SELECT = `SELECT ${alerts.select("t")}, t.acknowledged_by AS "acknowledgedBy" FROM alerts t WHERE t.project_id = $1`;
const OPEN_ALERTS = `${SELECT} AND t.resolved_at IS NULL`;
const ALERTS_BY_ID = `${SELECT} AND t.id = ANY($2::uuid[])`;
// A condition that may be absent would keep a cached plan from using the index of sessions.
const endedAlerts = (session: string) => `${SELECT} AND t.fired_at IS NOT NULL AND t.resolved_at IS NOT NULL
  AND ($2::uuid IS NULL OR t.rule_id = $2::uuid) AND ${session}
  AND ($7::text IS NULL OR t.facts->>'severity' = $7::text) AND ($8::text IS NULL OR strpos(lower(concat_ws(
    E'\\n', t.labels->>'harness', t.labels->>'session', t.labels->>'agent', t.labels->>'model', t.labels->>'rule')), lower($8::text)) > 0)
  AND ($4::float8 IS NULL OR (t.fired_at, t.id) < (to_timestamp($4::float8 / 1000), $5::uuid))
ORDER BY t.fired_at DESC, t.id DESC LIMIT $6::int4`;
const ENDED_ALERTS = endedAlerts("$3::uuid IS NULL");
const ENDED_OF_SESSION = endedAlerts("t.session_id = $3::uuid");
const ALL_GROUPS = `SELECT ${groups.select("t")} FROM alert_groups t WHERE t.project_id = $1`;
const ACKNOWLEDGEMENTS = `
SELECT id, acknowledged_by AS "by" FROM alerts
WHERE project_id = $1 AND resolved_at IS NULL AND acknowledged_at IS NOT NULL`;

/** Alerts that are open, those that receivers still believe to fire, and all groups. */
export async function readOpenAlerts(
  sql: Pick<Sql, "query">,
  projectId: number,
): Promise<{ alerts: OpenAlert[]; groups: AlertGroupRow[] }> {
  const [open, rows] = await Promise.all([
    sql.query<Record<string, unknown>>(OPEN_ALERTS, projectId),
    sql.query<Record<string, unknown>>(ALL_GROUPS, projectId),
  ]);
  const known = rows.map((row) => groups.parse(row) as unknown as AlertGroupRow);
  const ids = new Set(open.map(({ id }) => id));
  const told = known.flatMap(({ memory }) => Object.keys(memory.told)).filter((id) => !ids.has(id));
  const ended =
    told.length === 0 ? [] : await sql.query<Record<string, unknown>>(ALERTS_BY_ID, projectId, told);
  return { alerts: [...open, ...ended].map(alertOf), groups: known };
}

export interface EndedAlertsFilter {
  rule: string | undefined;
  session: string | undefined;
  severity: AlertSeverity | undefined;
  /** See `AlertsQuery`. */
  q: string | undefined;
  /** The last alert of the page before. Epoch ms. */
  before: { firedAt: number; id: string } | undefined;
  limit: number;
}

/** Alerts that have fired and ended, newest first. */
export async function readEndedAlerts(
  sql: Pick<Sql, "query">,
  projectId: number,
  { rule, session, severity, q, before, limit }: EndedAlertsFilter,
): Promise<OpenAlert[]> {
  const { firedAt, id } = before ?? { firedAt: null, id: null };
  const values = [projectId, rule ?? null, session ?? null, firedAt, id, limit, severity ?? null, q ?? null];
  const statement = session === undefined ? ENDED_ALERTS : ENDED_OF_SESSION;
  return (await sql.query<Record<string, unknown>>(statement, ...values)).map(alertOf);
}

/** Who acknowledged the open alerts, by id. */
export async function readAlertAcknowledgements(
  sql: Pick<Sql, "query">,
  projectId: number,
): Promise<Map<string, string>> {
  const rows = await sql.query<{ id: string; by: string }>(ACKNOWLEDGEMENTS, projectId);
  return new Map(rows.map(({ id, by }) => [id, by]));
}

function alertOf(raw: Record<string, unknown>): OpenAlert {
  const { acknowledgedBy } = raw;
  const row = alerts.parse(raw);
  return {
    id: row.id,
    ruleId: row.ruleId,
    judgedVersion: row.judgedVersion,
    subject: row.subject,
    place: row.place as AlertPlace,
    labels: row.labels as AlertLabels,
    groupKey: row.groupKey,
    state: {
      phase: row.phase as AlertPhase,
      startedAt: row.startedAt,
      pendingAt: row.pendingAt,
      firedAt: row.firedAt,
      clearAt: row.clearAt,
      resolvedAt: row.resolvedAt,
      endReason: row.endReason as AlertEndReason | undefined,
    },
    facts: row.facts as FiringFacts | undefined,
    acknowledgedBy: (acknowledgedBy as string | null) ?? undefined,
  };
}

function rowOf({ state, acknowledgedBy: _, ...alert }: OpenAlert): AlertRow {
  return {
    ...alert,
    sessionId: alert.place.sessionId,
    phase: state.phase,
    startedAt: state.startedAt!,
    pendingAt: state.pendingAt!,
    firedAt: state.firedAt,
    clearAt: state.clearAt,
    resolvedAt: state.resolvedAt,
    endReason: state.endReason,
  };
}

export const upsertAlerts = (projectId: number, changed: readonly OpenAlert[]) =>
  alerts.upsert(projectId, changed.map(rowOf));
export const deleteAlerts = (projectId: number, removed: readonly OpenAlert[]) =>
  alerts.delete(projectId, removed);
export const upsertGroups = (projectId: number, changed: readonly AlertGroupRow[]) =>
  groups.upsert(projectId, changed);
export const deleteGroups = (projectId: number, removed: readonly Pick<AlertGroupRow, "key">[]) =>
  groups.delete(projectId, removed);
