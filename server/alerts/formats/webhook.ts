import { createHmac } from "node:crypto";
import type { AlertNotification, TargetOf } from "@plimsoll/protocol/alerts";
import type { OutgoingRequest } from "../delivery/send-request.ts";
import type { FormatContext } from "./index.ts";
import { jsonRequest } from "./json-request.ts";
import { linkOf, titleOf } from "./words.ts";

/**
 * Standard Webhooks: https://github.com/standard-webhooks/standard-webhooks. While a secret is changed, the old and the new one
 * sign, so that no request fails.
 */
export function formatWebhook(
  { url }: TargetOf<"webhook">,
  notification: AlertNotification,
  { baseUrl, signing, now }: FormatContext,
): OutgoingRequest {
  const { id, kind, at, alerts, ...rest } = notification;
  const data = {
    ...rest,
    title: titleOf(notification),
    alerts: alerts.map((alert) => ({ ...alert, url: linkOf(alert, baseUrl) })),
  };
  const request = jsonRequest(url, { type: `alert.${kind}`, timestamp: at, data });
  const timestamp = String(Math.floor(now / 1_000));
  const sign = (secret: string) =>
    `v1,${createHmac("sha256", Buffer.from(secret.replace(/^whsec_/, ""), "base64"))
      .update(`${id}.${timestamp}.${request.body}`)
      .digest("base64")}`;
  const headers = {
    ...request.headers,
    "webhook-id": id,
    "webhook-timestamp": timestamp,
    "webhook-signature": signing.map(sign).join(" "),
  };
  return { ...request, headers };
}
