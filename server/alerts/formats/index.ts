import type { AlertEndpointTarget, AlertNotification, TargetOf } from "@plimsoll/protocol/alerts";
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

/** Targets of messages that go as requests. Mail goes by SMTP; see email.ts. */
type RequestTarget = Exclude<AlertEndpointTarget, { kind: "email" }>;

/** The request that notifies a receiver, in the form that the receiver expects. */
type Format<Target> = (
  target: Target,
  notification: AlertNotification,
  context: FormatContext,
) => OutgoingRequest;

const FORMATS: { readonly [Kind in RequestTarget["kind"]]: Format<TargetOf<Kind>> } = {
  webhook: formatWebhook,
  slack: formatSlack,
  discord: formatDiscord,
  teams: formatTeams,
  pagerduty: formatPagerduty,
  opsgenie: formatOpsgenie,
  alertmanager: formatAlertmanager,
  ntfy: formatNtfy,
};

// TypeScript does not see that a target fits the format that its own kind names.
export const formatDelivery: Format<RequestTarget> = (target, notification, context) =>
  (FORMATS[target.kind] as Format<RequestTarget>)(target, notification, context);
