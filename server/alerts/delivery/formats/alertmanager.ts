import type { AlertFacts, AlertNotification, TargetOf } from "@plimsoll/protocol";
import type { OutgoingRequest } from "../send-request.ts";
import type { FormatContext } from "./index.ts";
import { below, jsonRequest } from "./json-request.ts";
import { factsOf, linkOf, messageOf } from "./words.ts";

/** Milliseconds after which Alertmanager drops an alert whose end it was not told. */
const LONGEST_MS = 30 * 86_400_000;

/** API v2. Alertmanager groups, repeats and silences by itself, so each alert goes there by itself. */
export function formatAlertmanager(
  { url, username, password }: TargetOf<"alertmanager">,
  notification: AlertNotification,
  { baseUrl, now }: FormatContext,
): OutgoingRequest {
  const { project, kind } = notification;
  const message = messageOf(notification);
  const alerts = notification.alerts.map((alert) => ({
    labels: labelsOf(alert, project.name, kind),
    annotations: {
      summary: alert.why,
      ...(message !== undefined && { description: message }),
      ...Object.fromEntries(
        factsOf(alert).map(({ name, text }) => [name.toLowerCase().replaceAll(" ", "_"), text]),
      ),
    },
    startsAt: alert.fired_at,
    endsAt: alert.resolved_at ?? new Date(now + LONGEST_MS).toISOString(),
    generatorURL: linkOf(alert, baseUrl),
  }));
  const login = Buffer.from(`${username ?? ""}:${password ?? ""}`).toString("base64");
  const headers = username === undefined ? undefined : { authorization: `Basic ${login}` };
  return jsonRequest(below(url, "/api/v2/alerts"), alerts, headers);
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
