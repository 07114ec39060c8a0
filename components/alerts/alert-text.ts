import type { AlertEndpointKind, AlertSeverity, DeliveryState } from "@plimsoll/protocol/alerts";
import type {
  AlertBacktest,
  AlertDeliveryView,
  AlertEndpointView,
  AlertRuleImport,
  AlertsQuery,
  AlertView,
  AttemptOutcome,
} from "@plimsoll/protocol/api";
import { alertEndText } from "@plimsoll/protocol/pure";
import { duration, plural } from "../format.ts";

export const SEVERITY_TEXT: Readonly<Record<AlertSeverity, string>> = {
  critical: "Critical",
  warning: "Warning",
  info: "Info",
};

/** A mistake in a rule as a sentence, such as `Must be more than 0.` */
export function mistakeText(message: string): string {
  if (message === "is missing") return "Enter a value.";
  return `${message[0]!.toUpperCase()}${message.slice(1)}.`;
}

export const LIST_TEXT: Readonly<Record<AlertsQuery["state"], string>> = {
  open: "Open",
  unhandled: "Not handled",
  acknowledged: "Acknowledged",
  muted: "Muted",
  ended: "Ended",
};

/** Such as `12 harnesses`, or the only one. Null for alerts of the project. */
export function placesText(alerts: readonly Pick<AlertView, "subject">[]): string | null {
  const harnesses = new Set(alerts.map(({ subject }) => subject.harness).filter((name) => name !== null));
  const [only] = harnesses;
  return harnesses.size > 1 ? plural(harnesses.size, "harness", "harnesses") : (only ?? null);
}

/** Harness, session and agent of an alert, as far as it has them. */
export function subjectText({ subject: { harness, session, agent } }: Pick<AlertView, "subject">): string {
  const parts = [harness, session, agent === session ? null : agent].filter((part) => part !== null);
  return parts.length === 0 ? "this project" : parts.join(" · ");
}

/** Such as `ended after 22 min: the condition is over`. */
export function endText(alert: AlertView): string {
  const { fired_at, resolved_at } = alert;
  if (resolved_at === null) return "";
  const lasted = duration(Math.max(0, Date.parse(resolved_at) - Date.parse(fired_at)));
  const why = alertEndText(alert);
  return `ended after ${lasted}${why === null ? "" : `: ${why}`}`;
}

const MUTED_TEXT: Readonly<Record<NonNullable<AlertView["muted"]>, string>> = {
  silenced: "silenced",
  inhibited: "not notified: a more severe alert of the same agent is open",
};

/** What else is known of an alert: `no data`, `silenced`, `acknowledged by Ada`. */
export function notesOf({ phase, muted, acknowledged_by }: AlertView): string[] {
  return [
    ...(phase === "no_data" ? ["no data"] : []),
    ...(muted === null ? [] : [MUTED_TEXT[muted]]),
    ...(acknowledged_by === null ? [] : [`acknowledged by ${acknowledged_by}`]),
  ];
}

/**
 * Such as `Fired from 14:00 to 15:30 and from 20:00 to 20:30 in the last 24 hours`.
 * @param steps open alerts of each step, oldest first
 * @param timeOf the time at which a step begins
 */
export function firedText(steps: readonly number[], timeOf: (step: number) => string): string {
  const spans: string[] = [];
  steps.forEach((firing, step) => {
    if (firing === 0 || (steps[step - 1] ?? 0) > 0) return;
    const after = steps.findIndex((count, later) => later > step && count === 0);
    spans.push(after === -1 ? `since ${timeOf(step)}` : `from ${timeOf(step)} to ${timeOf(after)}`);
  });
  if (spans.length === 0) return "Did not fire in the last 24 hours";
  const shown = spans.slice(-3);
  const more = spans.length > shown.length ? `${plural(spans.length, "time")}, lately ` : "";
  return `Fired ${more}${shown.join(" and ")} in the last 24 hours`;
}

/** What an import did, such as `2 rules created, 1 changed.` */
export function importedText({ created, changed, deleted, unchanged }: AlertRuleImport): string {
  const parts = [
    created > 0 && `${plural(created, "rule")} created`,
    changed > 0 && `${plural(changed, "rule")} changed`,
    deleted > 0 && `${plural(deleted, "rule")} deleted`,
    unchanged > 0 && `${plural(unchanged, "rule")} unchanged`,
  ].filter(Boolean);
  return parts.length === 0 ? "The text has no rules." : `${parts.join(", ")}.`;
}

export const ENDPOINT_KIND_TEXT: Readonly<Record<AlertEndpointKind, string>> = {
  webhook: "Webhook",
  slack: "Slack",
  discord: "Discord",
  teams: "Microsoft Teams",
  pagerduty: "PagerDuty",
  opsgenie: "Opsgenie",
  alertmanager: "Alertmanager",
  ntfy: "ntfy",
  email: "E-mail",
};

const OUTCOME_TEXT: Readonly<Record<AttemptOutcome, string>> = {
  delivered: "Delivered",
  refused: "The receiver refused the message",
  gone: "The receiver says that it is gone",
  http_status: "The receiver answered with an error",
  redirect: "The receiver sent a redirect, which is not followed",
  timeout: "No whole answer within 10 s",
  connection_refused: "The receiver refused the connection",
  connection_lost: "The connection was lost",
  dns: "The name could not be resolved",
  tls: "The TLS certificate is not trusted",
  address_not_allowed: "The address is not public",
  smtp: "The mail server refused the message",
};

/** Such as `The receiver answered with an error (503)`. */
export function outcomeText(outcome: AttemptOutcome, status: number | null): string {
  return status === null || outcome === "delivered"
    ? OUTCOME_TEXT[outcome]
    : `${OUTCOME_TEXT[outcome]} (${status})`;
}

export const DELIVERY_TEXT: Readonly<Record<DeliveryState, string>> = {
  waiting: "Waiting",
  delivered: "Delivered",
  failed: "Failed",
  skipped: "Skipped",
};

/** Why nothing reaches an endpoint; null if all is well. */
export function endpointProblem({
  readable,
  pause_reason,
  failing_since,
  last_attempt,
}: AlertEndpointView): string | null {
  if (!readable)
    return "This server has another key than the one that encrypted its secrets. Save its target again.";
  if (pause_reason === "person") return "Paused.";
  if (pause_reason === "gone") return "Paused: the receiver says that it does not exist any more.";
  if (pause_reason === "failing") return "Paused: every attempt failed for 24 h.";
  if (failing_since === null || last_attempt === null) return null;
  const what = outcomeText(last_attempt.outcome, last_attempt.status);
  return last_attempt.outcome === "refused"
    ? `${what}, and Plimsoll does not repeat it. Its log has the answer.`
    : `${what}. Plimsoll keeps trying for 24 h.`;
}

/** What may be done with a delivery, by its state. */
export const canRedeliver = ({ state }: AlertDeliveryView): boolean => state !== "waiting";

/** Such as `Would have fired 14 times in 7 days, longest 22 min`. */
export function backtestText({ count, longest_ms, brief, complete }: AlertBacktest, days: number): string {
  const range = days === 1 ? "24 hours" : `${days} days`;
  const partly = complete ? "" : " The history was too long to examine in full.";
  if (count === 0) return `Would not have fired in ${range}.${partly}`;
  const daily = days === 1 ? "" : ` (${Math.round((10 * count) / days) / 10} a day)`;
  const short =
    brief === 0
      ? ""
      : ` ${brief} of ${count} ended by ${brief === 1 ? "itself" : "themselves"} within a minute.`;
  return `Would have fired ${plural(count, "time")} in ${range}${daily}, longest ${duration(longest_ms)}.${short}${partly}`;
}
