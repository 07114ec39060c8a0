import { type AlertSeverity, isFiring } from "@plimsoll/protocol/alerts";
import type { AlertPage, AlertsQuery, AlertView } from "@plimsoll/protocol/api";
import { queriesOf } from "../db/sql.ts";
import { PlimsollError } from "../errors.ts";
import type { Reader } from "../lines/reader.ts";
import { type OpenAlert, readEndedAlerts, readOpenAlerts } from "./alert-rows.ts";
import { alertFacts, firingByAgent, muteOf } from "./evaluation/decide-groups.ts";
import { RuleBook } from "./rule-book.ts";

const RANK: Readonly<Record<AlertSeverity, number>> = { critical: 0, warning: 1, info: 2 };

const FAILING_ENDPOINTS = `
SELECT count(*)::int4 AS failing FROM alert_endpoints
WHERE project_id = $1 AND (pause_reason IN ('failing', 'gone') OR (pause_reason IS NULL AND failing_since IS NOT NULL))`;

/** Alerts that fire, the worst and oldest first; or those that have ended, newest first. */
export async function readAlerts(reader: Reader, query: AlertsQuery): Promise<AlertPage> {
  const { projectId, now } = reader;
  const sql = queriesOf(reader);
  const [{ alerts }, book, [endpoints]] = await Promise.all([
    readOpenAlerts(sql, projectId),
    RuleBook.read(sql, projectId, 0, now),
    sql.query<{ failing: number }>(FAILING_ENDPOINTS, projectId),
  ]);
  const firing = alerts.filter(({ state }) => isFiring(state));
  const counts = { firing: firing.length, failing_endpoints: endpoints!.failing };
  if (query.state === "ended") return { ...counts, selected: null, ...(await endedPage(reader, query)) };
  const levels = firingByAgent(alerts);
  const selected = firing
    .filter((alert) => isSelected(alert, query))
    .map((alert) => ({ alert, muted: muteOf(alert, book, levels, now) }))
    .filter(({ alert, muted }) => isInList(query.state, alert, muted))
    .sort(
      ({ alert: one }, { alert: other }) =>
        RANK[severityOf(one)] - RANK[severityOf(other)] || one.state.firedAt! - other.state.firedAt!,
    );
  const items = selected.slice(0, query.limit).map(({ alert, muted }) => ({ ...viewOf(alert), muted }));
  return { ...counts, selected: selected.length, items, next_cursor: null };
}

const SEARCHED = ["harness", "session", "agent", "model", "rule"];

function isSelected({ ruleId, place, labels, ...alert }: OpenAlert, query: AlertsQuery): boolean {
  const text = query.q?.toLowerCase() ?? "";
  return (
    (query.rule === undefined || ruleId === query.rule) &&
    (query.session === undefined || place.sessionId === query.session) &&
    (query.severity === undefined || alert.facts?.severity === query.severity) &&
    SEARCHED.some((label) => (labels[label] ?? "").toLowerCase().includes(text))
  );
}

function isInList(
  list: AlertsQuery["state"],
  { acknowledgedBy }: OpenAlert,
  muted: AlertView["muted"],
): boolean {
  if (list === "muted") return muted !== null;
  if (list === "acknowledged") return acknowledgedBy !== undefined;
  return list !== "unhandled" || (muted === null && acknowledgedBy === undefined);
}

async function endedPage(
  { projectId, ...reader }: Reader,
  { rule, session, severity, q, limit, cursor }: AlertsQuery,
): Promise<Pick<AlertPage, "items" | "next_cursor">> {
  const before = cursor === undefined ? undefined : placeOf(cursor);
  const rows = await readEndedAlerts(queriesOf(reader), projectId, {
    rule,
    session,
    severity,
    q,
    before,
    limit: limit + 1,
  });
  const items = rows.slice(0, limit).map((alert) => ({ ...viewOf(alert), muted: null }));
  const last = rows.length > limit ? rows[limit - 1] : undefined;
  return { items, next_cursor: last === undefined ? null : `${last.state.firedAt}.${last.id}` };
}

/** @throws PlimsollError `bad_request` */
function placeOf(cursor: string): { firedAt: number; id: string } {
  const [, firedAt, id] = /^(\d{1,15})\.([0-9a-f-]{36})$/.exec(cursor) ?? [];
  if (id === undefined)
    throw new PlimsollError("bad_request", "cursor: send the next_cursor of the page before.");
  return { firedAt: Number(firedAt), id };
}

const severityOf = ({ facts }: OpenAlert): AlertSeverity => facts?.severity ?? "info";

const viewOf = (alert: OpenAlert): Omit<AlertView, "muted"> => ({
  ...alertFacts(alert),
  phase: alert.state.phase as AlertView["phase"],
  session_id: alert.place.sessionId ?? null,
  agent_id: alert.place.agentId ?? null,
});
