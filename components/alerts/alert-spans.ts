import type { AlertSeverity } from "@plimsoll/protocol/alerts";
import type { AlertView } from "@plimsoll/protocol/api";
import type { AlertSpan } from "../charts/session/place-alert-spans.ts";
import { endText, SEVERITY_TEXT } from "./alert-text.ts";

/** The spans of alerts on the chart of an agent: its own, and those of its session as a whole. */
export function alertSpans(alerts: readonly AlertView[], agentId: string): AlertSpan[] {
  return alerts
    .filter(({ agent_id }) => agent_id === null || agent_id === agentId)
    .map((alert) => ({
      id: alert.id,
      severity: alert.rule.severity,
      from: Date.parse(alert.started_at),
      to: alert.resolved_at === null ? null : Date.parse(alert.resolved_at),
      name: spanName(
        alert.rule.severity,
        alert.rule.name,
        alert.why,
        alert.resolved_at === null ? "still open" : endText(alert),
      ),
    }));
}

/** Such as `Critical alert, Ceiling crossed: 61,000 context tokens crossed the ceiling; still open`. */
export function spanName(severity: AlertSeverity, rule: string, why: string, state: string): string {
  return `${SEVERITY_TEXT[severity]} alert, ${rule}: ${why}; ${state}`;
}
