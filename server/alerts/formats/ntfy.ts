import type { AlertNotification, TargetOf } from "@plimsoll/protocol/alerts";
import type { OutgoingRequest } from "../delivery/send-request.ts";
import type { FormatContext } from "./index.ts";
import { jsonRequest } from "./json-request.ts";
import { cut, cutBytes } from "./text.ts";
import { fitAlerts, isOver, linkOf, severityOf, textOf, titleOf } from "./words.ts";

/** ntfy makes an attachment of a message above 4,096 bytes. */
const MOST = { title: 200, alerts: 10, bytes: 4_000 };

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
  const topic = parts.pop() ?? "";
  server.pathname = `/${parts.join("/")}`;
  const text = fitAlerts(
    notification,
    MOST.alerts,
    (list) => textOf(notification, baseUrl, list),
    (built) => Buffer.byteLength(built) <= MOST.bytes,
  );
  const body = {
    topic,
    title: cut(titleOf(notification), MOST.title),
    message: cutBytes(text, MOST.bytes),
    priority: isOver(notification) ? 3 : PRIORITY[severityOf(notification)],
    ...(first !== undefined && { click: linkOf(first, baseUrl) }),
  };
  return jsonRequest(server.href, body, token === undefined ? {} : { authorization: `Bearer ${token}` });
}
