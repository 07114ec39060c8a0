import type { AlertNotification, TargetOf } from "@plimsoll/protocol";
import type { OutgoingRequest } from "../send-request.ts";
import type { FormatContext } from "./index.ts";
import { jsonRequest } from "./json-request.ts";
import { cut, isOver, linkOf, severityOf, textOf, titleOf } from "./words.ts";

/** ntfy makes an attachment of a message above 4,096 bytes. */
const MOST = { title: 200, bytes: 4_000 };

const PRIORITY = { critical: 5, warning: 4, info: 3 } as const;

/** Published as JSON: names of agents need not fit into headers. */
export function formatNtfy(
  { url, token }: TargetOf<"ntfy">,
  notification: AlertNotification,
  { baseUrl }: FormatContext,
): OutgoingRequest {
  const [first] = notification.alerts;
  const server = new URL(url);
  const parts = server.pathname.split("/").filter((part) => part !== "");
  const topic = decodeURIComponent(parts.pop() ?? "");
  server.pathname = `/${parts.join("/")}`;
  const body = {
    topic,
    title: cut(titleOf(notification), MOST.title),
    message: cutBytes(textOf(notification, baseUrl, 3), MOST.bytes),
    priority: isOver(notification) ? 3 : PRIORITY[severityOf(notification)],
    ...(first !== undefined && { click: linkOf(first, baseUrl) }),
  };
  return jsonRequest(server.href, body, token === undefined ? {} : { authorization: `Bearer ${token}` });
}

function cutBytes(text: string, most: number): string {
  let cutText = text;
  for (let length = text.length; Buffer.byteLength(cutText) > most; length = Math.floor(length * 0.9))
    cutText = cut(text, length);
  return cutText;
}
