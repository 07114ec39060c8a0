import type { AlertNotification, TargetOf } from "@plimsoll/protocol";
import type { OutgoingRequest } from "../send-request.ts";
import { groupDigest } from "./group-digest.ts";
import type { FormatContext } from "./index.ts";
import { below, jsonRequest } from "./json-request.ts";
import { cut, plain, severityOf, textOf, titleOf } from "./words.ts";

/** Opsgenie's limits in characters. */
const MOST = { message: 130, description: 15_000, source: 100, note: 25_000, entity: 512 };

const PRIORITY = { critical: "P1", warning: "P3", info: "P5" } as const;

/** Alert API. All messages about a group have one alias, so they are one alert. */
export function formatOpsgenie(
  { url, api_key }: TargetOf<"opsgenie">,
  notification: AlertNotification,
  { baseUrl }: FormatContext,
): OutgoingRequest {
  const { kind, alerts, project } = notification;
  const alias = `plimsoll-${groupDigest(notification)}`;
  const headers = { authorization: `GenieKey ${api_key}` };
  const source = cut(`Plimsoll ${plain(project.name)}`, MOST.source);
  const text = textOf(notification, baseUrl);
  const action = { acknowledged: "acknowledge", resolved: "close" }[kind as string];
  if (action !== undefined) {
    const note = cut(`${titleOf(notification)}\n\n${text}`, MOST.note);
    return jsonRequest(
      below(url, `/v2/alerts/${alias}/${action}?identifierType=alias`),
      { source, note },
      headers,
    );
  }
  const alert = {
    message: cut(titleOf(notification), MOST.message),
    alias,
    description: cut(text, MOST.description),
    entity: cut(alerts[0]?.subject.harness ?? "", MOST.entity),
    source,
    priority: PRIORITY[severityOf(notification)],
    tags: ["plimsoll", ...new Set(alerts.map(({ condition }) => condition))].slice(0, 20),
  };
  return jsonRequest(below(url, "/v2/alerts"), alert, headers);
}
