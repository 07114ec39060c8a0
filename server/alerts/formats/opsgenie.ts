import type { AlertNotification, TargetOf } from "@plimsoll/protocol/alerts";
import type { OutgoingRequest } from "../delivery/send-request.ts";
import { groupDigest } from "./group-digest.ts";
import type { FormatContext } from "./index.ts";
import { below, jsonRequest } from "./json-request.ts";
import { cut, plain } from "./text.ts";
import { fitAlerts, severityOf, textOf, titleOf } from "./words.ts";

/** Opsgenie's limits in characters and tags, and alerts of one message. */
const MOST = { message: 130, text: 15_000, source: 100, entity: 512, tags: 20, alerts: 20 };

const PRIORITY = { critical: "P1", warning: "P3", info: "P5" } as const;

const ACTION: Partial<Record<AlertNotification["kind"], string>> = {
  acknowledged: "acknowledge",
  resolved: "close",
};

/** Alert API. All messages about a group have one alias, so they are one alert. */
export function formatOpsgenie(
  { url, api_key }: TargetOf<"opsgenie">,
  notification: AlertNotification,
  { baseUrl }: FormatContext,
): OutgoingRequest {
  const { kind, alerts, project } = notification;
  const alias = `plimsoll-${groupDigest(notification)}`;
  const headers = { authorization: `GenieKey ${api_key}` };
  const source = cut(literal(`Plimsoll ${plain(project.name)}`.trim()), MOST.source);
  const title = literal(titleOf(notification));
  const text = fitAlerts(
    notification,
    MOST.alerts,
    (list) => literal(textOf(notification, baseUrl, list)),
    (built) => built.length <= MOST.text - title.length - 2,
  );
  const action = ACTION[kind];
  if (action !== undefined) {
    const address = below(url, `/v2/alerts/${alias}/${action}`, { identifierType: "alias" });
    return jsonRequest(address, { source, note: cut(`${title}\n\n${text}`, MOST.text) }, headers);
  }
  const alert = {
    message: cut(title, MOST.message),
    alias,
    description: cut(text, MOST.text),
    entity: cut(literal(plain(alerts[0]?.subject.harness ?? "")), MOST.entity),
    source,
    priority: PRIORITY[severityOf(notification)],
    tags: ["plimsoll", ...new Set(alerts.map(({ condition }) => plain(condition, 50)))].slice(0, MOST.tags),
  };
  return jsonRequest(below(url, "/v2/alerts"), alert, headers);
}

/** Opsgenie shows HTML. An angle bracket that begins a tag becomes a quotation mark of about its shape. */
const literal = (text: string) => text.replace(/<(?=[a-z/!?])/gi, "‹");
