import type { AlertNotification, AlertSeverity, TargetOf } from "@plimsoll/protocol";
import type { OutgoingRequest } from "../send-request.ts";
import type { FormatContext } from "./index.ts";
import { jsonRequest } from "./json-request.ts";
import {
  alertLine,
  cut,
  factsOf,
  isOver,
  linkOf,
  messageOf,
  moreText,
  severityOf,
  titleOf,
} from "./words.ts";

/** Discord's limits in characters. All texts of an embed may have 6,000 together. */
const MOST = { title: 256, description: 3_000, value: 300, alerts: 10 };

const COLOUR: Record<AlertSeverity, number> = { critical: 0xd93025, warning: 0xe8a317, info: 0x4a7fb5 };
const OVER = 0x2e8b57;

/** One embed. No name can mention anybody, or become a link or markup. */
export function formatDiscord(
  { url }: TargetOf<"discord">,
  notification: AlertNotification,
  { baseUrl }: FormatContext,
): OutgoingRequest {
  const { alerts, omitted, at } = notification;
  const message = messageOf(notification);
  const listed = alerts.slice(0, MOST.alerts);
  const [only] = alerts.length === 1 ? alerts : [];
  const lines = only === undefined ? listed.map((alert) => `- ${literal(alertLine(alert), MOST.value)}`) : [];
  const more = moreText(omitted + alerts.length - listed.length);
  const description = [...(message === undefined ? [] : [literal(message, 1_500)]), ...lines, more]
    .filter(Boolean)
    .join("\n");
  const embed = {
    title: literal(titleOf(notification), MOST.title),
    ...(alerts[0] !== undefined && { url: linkOf(alerts[0], baseUrl) }),
    ...(description !== "" && { description: cut(description, MOST.description) }),
    color: isOver(notification) ? OVER : COLOUR[severityOf(notification)],
    timestamp: at,
    fields: (only === undefined ? [] : factsOf(only)).map(({ name, text }) => ({
      name,
      value: literal(text, MOST.value),
      inline: text.length < 40,
    })),
  };
  return jsonRequest(url, { embeds: [embed], allowed_mentions: { parse: [] } });
}

/** Discord shows a character after a backslash as it is. */
const literal = (text: string, most: number) => {
  const escaped = text.replace(/[\\*_~`|<>[\]()#@:-]/g, "\\$&");
  return escaped.length <= most ? escaped : cut(escaped, most).replace(/(?<!\\)(\\\\)*\\…$/, "$1…");
};
