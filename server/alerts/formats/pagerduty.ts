import type { AlertFacts, AlertNotification, TargetOf } from "@plimsoll/protocol/alerts";
import type { OutgoingRequest } from "../delivery/send-request.ts";
import { groupDigest } from "./group-digest.ts";
import type { FormatContext } from "./index.ts";
import { below, jsonRequest } from "./json-request.ts";
import { cut, partsText, plain } from "./text.ts";
import {
  alertParts,
  factsOf,
  fitAlerts,
  isSingle,
  type ListedAlerts,
  linkOf,
  messageOf,
  nameOf,
  placeOf,
  severityOf,
  summaryOf,
} from "./words.ts";

/** PagerDuty's limits in characters, and alerts and links of one event. */
const MOST = { summary: 1_024, source: 255, link: 200, alerts: 20 };

const ACTION = {
  firing: "trigger",
  repeated: "trigger",
  test: "trigger",
  acknowledged: "acknowledge",
  resolved: "resolve",
} as const;

/** Events API v2. All messages about a group have one `dedup_key`, so they are one incident. */
export function formatPagerduty(
  { url, routing_key }: TargetOf<"pagerduty">,
  notification: AlertNotification,
  { baseUrl }: FormatContext,
): OutgoingRequest {
  const { kind, alerts, project, at } = notification;
  const [first] = alerts;
  const event = fitAlerts(notification, MOST.alerts, (list) => ({
    routing_key,
    event_action: ACTION[kind],
    dedup_key: `plimsoll-${groupDigest(notification)}`,
    payload: {
      summary: cut(summaryOf(notification), MOST.summary),
      source: cut((first && placeOf(first)) || plain(project.name) || "Plimsoll", MOST.source),
      severity: severityOf(notification),
      timestamp: first?.fired_at ?? at,
      component: plain(first?.subject.harness ?? "") || undefined,
      class: first?.condition,
      group: plain(project.name) || undefined,
      custom_details: detailsOf(notification, list),
    },
    links: list.listed.map((alert: AlertFacts) => ({
      href: linkOf(alert, baseUrl),
      text: cut(nameOf(alert), MOST.link),
    })),
    client: "Plimsoll",
    client_url: baseUrl,
  }));
  return jsonRequest(below(url, "/v2/enqueue"), event);
}

function detailsOf(notification: AlertNotification, { listed, more }: ListedAlerts) {
  const message = messageOf(notification);
  const facts = isSingle(notification)
    ? Object.fromEntries(listed.flatMap(factsOf).map(({ name, parts }) => [name, partsText(parts)]))
    : { Alerts: [...listed.map((alert) => partsText(alertParts(alert))), ...(more === "" ? [] : [more])] };
  return { ...(message !== null && { Message: message }), ...facts };
}
