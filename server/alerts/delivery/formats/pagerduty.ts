import type { AlertNotification, TargetOf } from "@plimsoll/protocol";
import type { OutgoingRequest } from "../send-request.ts";
import { groupDigest } from "./group-digest.ts";
import type { FormatContext } from "./index.ts";
import { below, jsonRequest } from "./json-request.ts";
import {
  alertLine,
  cut,
  factsOf,
  linkOf,
  messageOf,
  moreText,
  placeOf,
  severityOf,
  titleOf,
} from "./words.ts";

/** PagerDuty's limits in characters, and alerts and links of one event. */
const MOST = { summary: 1_024, source: 255, alerts: 20 };

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
  const { kind, alerts, omitted, project, at } = notification;
  const message = messageOf(notification);
  const listed = alerts.slice(0, MOST.alerts);
  const [first] = alerts;
  const more = moreText(omitted + alerts.length - listed.length);
  const single = alerts.length === 1 && first !== undefined;
  const details = single
    ? Object.fromEntries(factsOf(first).map(({ name, text }) => [name, text]))
    : { Alerts: [...listed.map(alertLine), ...(more === "" ? [] : [more])] };
  const event = {
    routing_key,
    event_action: ACTION[kind],
    dedup_key: `plimsoll-${groupDigest(notification)}`,
    payload: {
      summary: cut(titleOf(notification), MOST.summary),
      source: cut((first && placeOf(first)) || project.name, MOST.source),
      severity: severityOf(notification),
      timestamp: first?.fired_at ?? at,
      component: first?.subject.harness ?? undefined,
      class: first?.condition,
      group: project.name,
      custom_details: { ...(message !== undefined && { Message: message }), ...details },
    },
    links: listed.map((alert) => ({
      href: linkOf(alert, baseUrl),
      text: cut(placeOf(alert) || "Plimsoll", 200),
    })),
    client: "Plimsoll",
    client_url: baseUrl,
  };
  return jsonRequest(below(url, "/v2/enqueue"), event);
}
