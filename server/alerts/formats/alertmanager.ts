import type { AlertFacts, AlertNotification, TargetOf } from "@plimsoll/protocol/alerts";
import type { OutgoingRequest } from "../delivery/send-request.ts";
import type { FormatContext } from "./index.ts";
import { below, jsonRequest } from "./json-request.ts";
import { partsText, plain } from "./text.ts";
import { factsOf, linkOf, messageOf } from "./words.ts";

/** Milliseconds after which Alertmanager ends an alert by itself. Plimsoll tells it of one that fires every minute. */
const STANDING_MS = 5 * 60_000;

/** API v2. Alertmanager groups, repeats and silences by itself, so each alert goes there by itself. */
export function formatAlertmanager(
  { url, username, password }: TargetOf<"alertmanager">,
  notification: AlertNotification,
  { baseUrl, now }: FormatContext,
): OutgoingRequest {
  const { project, kind } = notification;
  const message = messageOf(notification);
  const end = now + STANDING_MS;
  const alerts = notification.alerts.map((alert) => ({
    labels: labelsOf(alert, project.name, kind),
    annotations: {
      summary: plain(alert.why, 500),
      ...(message !== null && { description: message }),
      ...Object.fromEntries(
        factsOf(alert).map(({ name, parts }) => [name.toLowerCase().replaceAll(" ", "_"), partsText(parts)]),
      ),
    },
    startsAt: alert.fired_at,
    endsAt: endOf(alert, end),
    generatorURL: linkOf(alert, baseUrl),
  }));
  const login = Buffer.from(`${username ?? ""}:${password ?? ""}`).toString("base64");
  const headers = username === undefined ? undefined : { authorization: `Basic ${login}` };
  return jsonRequest(below(url, "/api/v2/alerts"), alerts, headers);
}

/** Alertmanager refuses an end before the start. @param later end of an alert that fires, epoch ms */
function endOf({ fired_at, resolved_at }: AlertFacts, later: number): string {
  const end = resolved_at === null ? later : Date.parse(resolved_at);
  return new Date(Math.max(end, Date.parse(fired_at))).toISOString();
}

/** They name an alert, so nothing that can change while it fires is among them. */
function labelsOf(
  alert: AlertFacts,
  project: string,
  kind: AlertNotification["kind"],
): Record<string, string> {
  const { harness, session, agent } = alert.subject;
  const labels = {
    ...alert.labels,
    alertname: alert.rule.name,
    severity: kind === "test" ? "info" : alert.rule.severity,
    project,
    harness,
    session,
    agent,
    alert_id: alert.id,
  };
  // An empty label is none.
  return Object.fromEntries(
    Object.entries(labels).filter((entry): entry is [string, string] => Boolean(entry[1])),
  );
}
