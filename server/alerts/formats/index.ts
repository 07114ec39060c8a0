import type { AlertEndpointTarget, AlertNotification } from "@plimsoll/protocol/alerts";
import type { OutgoingRequest } from "../delivery/send-request.ts";
import { formatAlertmanager } from "./alertmanager.ts";
import { formatDiscord } from "./discord.ts";
import { formatNtfy } from "./ntfy.ts";
import { formatOpsgenie } from "./opsgenie.ts";
import { formatPagerduty } from "./pagerduty.ts";
import { formatSlack } from "./slack.ts";
import { formatTeams } from "./teams.ts";
import { formatWebhook } from "./webhook.ts";

/** What a format needs besides the target and the notification. */
export interface FormatContext {
  /** Where people reach the dashboard, for links. */
  baseUrl: string;
  /** Secrets that sign a webhook, newest first. */
  signing: readonly string[];
  /** When the attempt is made. Epoch ms. */
  now: number;
}

/** The request that tells a receiver of a notification, in the form that the receiver expects. */
export function formatDelivery(
  target: Exclude<AlertEndpointTarget, { kind: "email" }>,
  notification: AlertNotification,
  context: FormatContext,
): OutgoingRequest {
  switch (target.kind) {
    case "webhook":
      return formatWebhook(target, notification, context);
    case "slack":
      return formatSlack(target, notification, context);
    case "discord":
      return formatDiscord(target, notification, context);
    case "teams":
      return formatTeams(target, notification, context);
    case "pagerduty":
      return formatPagerduty(target, notification, context);
    case "opsgenie":
      return formatOpsgenie(target, notification, context);
    case "alertmanager":
      return formatAlertmanager(target, notification, context);
    case "ntfy":
      return formatNtfy(target, notification, context);
  }
}
