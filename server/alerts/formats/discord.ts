import type { AlertNotification, AlertSeverity, TargetOf } from "@plimsoll/protocol/alerts";
import type { OutgoingRequest } from "../delivery/send-request.ts";
import type { FormatContext } from "./index.ts";
import { jsonRequest } from "./json-request.ts";
import { cut, linkedParts, type MessagePart, partsText } from "./text.ts";
import {
  alertParts,
  factsOf,
  fitAlerts,
  isOver,
  isSingle,
  type ListedAlerts,
  linkOf,
  messageOf,
  severityOf,
  titleOf,
} from "./words.ts";

/** Discord's limits in characters: of a title, of a field's value, of a description, and of all texts of an embed. */
const MOST = { title: 256, value: 500, message: 1_500, description: 4_000, embed: 6_000, alerts: 10 };

const COLOUR: Record<AlertSeverity, number> = { critical: 0xd93025, warning: 0xe8a317, info: 0x4a7fb5 };
const OVER = 0x2e8b57;

/** One embed. No name can mention anybody, or become a link or markup. Only addresses in the rule's message are links. */
export function formatDiscord(
  { url }: TargetOf<"discord">,
  notification: AlertNotification,
  { baseUrl }: FormatContext,
): OutgoingRequest {
  const embed = fitAlerts(
    notification,
    MOST.alerts,
    (list) => embedOf(notification, baseUrl, list),
    ({ title, description = "", fields }) =>
      description.length <= MOST.description &&
      [title, description, ...fields.flatMap(({ name, value }) => [name, value])].join("").length <=
        MOST.embed,
  );
  return jsonRequest(url, { embeds: [embed], allowed_mentions: { parse: [] } });
}

function embedOf(notification: AlertNotification, baseUrl: string, { listed, more }: ListedAlerts) {
  const message = messageOf(notification);
  const single = isSingle(notification);
  const lines = single ? [] : listed.map((alert) => `- ${literalParts(alertParts(alert), MOST.value)}`);
  const said = literalParts(linkedParts(message ?? ""), MOST.message);
  const description = [said, ...lines, more].filter(Boolean).join("\n");
  return {
    title: literal(titleOf(notification), MOST.title),
    ...(listed[0] !== undefined && { url: linkOf(listed[0], baseUrl) }),
    ...(description !== "" && { description }),
    color: isOver(notification) ? OVER : COLOUR[severityOf(notification)],
    timestamp: notification.at,
    fields: (single ? listed.flatMap(factsOf) : []).map(({ name, parts }) => ({
      name,
      value: literalParts(parts, MOST.value),
      inline: partsText(parts).length < 40,
    })),
  };
}

/** Discord shows a punctuation mark after a backslash as it is. */
function literal(text: string, most: number): string {
  const escaped = text.replace(/[\\*_~`|<>[\]()#@:+-]/g, "\\$&").replace(/^(\d+)\./gm, "$1\\.");
  if (escaped.length <= most) return escaped;
  // A backslash whose mark was cut off would escape the ellipsis.
  return cut(escaped, most).replace(/(?<!\\)((?:\\\\)*)\\…$/, "$1…");
}

/** Discord shows a time in the reader's time zone, and an address in angle brackets as a link. Neither is cut in two. */
function literalParts(parts: readonly MessagePart[], most: number): string {
  let text = "";
  for (const part of parts) {
    const left = most - text.length;
    const next =
      typeof part === "string"
        ? literal(part, Math.max(1, left))
        : "at" in part
          ? `<t:${Math.floor(Date.parse(part.at) / 1_000)}:f>`
          : `<${part.url}>`;
    if (next.length > left) return text;
    text += next;
  }
  return text;
}
