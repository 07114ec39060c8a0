import type { AlertNotification, TargetOf } from "@plimsoll/protocol";
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

/** Teams refuses messages above 28 KB. */
const MOST = { title: 300, message: 2_000, text: 500, alerts: 10 };

const COLOUR = { critical: "Attention", warning: "Warning", info: "Accent" } as const;

/** An Adaptive Card. Texts are runs, in which Teams sees no markup and no mention. */
export function formatTeams(
  { url }: TargetOf<"teams">,
  notification: AlertNotification,
  { baseUrl }: FormatContext,
): OutgoingRequest {
  const { alerts, omitted } = notification;
  const message = messageOf(notification);
  const listed = alerts.slice(0, MOST.alerts);
  const [first] = alerts;
  const more = moreText(omitted + alerts.length - listed.length);
  const color = isOver(notification) ? "Good" : COLOUR[severityOf(notification)];
  const body = [
    line({ text: cut(titleOf(notification), MOST.title), weight: "Bolder", size: "Medium", color }),
    ...(message === undefined ? [] : [line({ text: cut(message, MOST.message) })]),
    ...(alerts.length === 1
      ? factsOf(first!).map(({ name, text }) =>
          line({ text: `${name}: `, weight: "Bolder" }, { text: cut(text, MOST.text) }),
        )
      : listed.map((alert) => line({ text: cut(alertLine(alert), MOST.text) }))),
    ...(more === "" ? [] : [line({ text: more, isSubtle: true })]),
  ];
  const content = {
    $schema: "http://adaptivecards.io/schemas/adaptive-card.json",
    type: "AdaptiveCard",
    version: "1.4",
    msteams: { width: "Full" },
    body,
    actions:
      first === undefined
        ? []
        : [{ type: "Action.OpenUrl", title: "Open in Plimsoll", url: linkOf(first, baseUrl) }],
  };
  const attachment = { contentType: "application/vnd.microsoft.card.adaptive", contentUrl: null, content };
  return jsonRequest(url, { type: "message", attachments: [attachment] });
}

interface Run {
  text: string;
  weight?: "Bolder";
  size?: "Medium";
  color?: string;
  isSubtle?: boolean;
}

const line = (...runs: Run[]) => ({
  type: "RichTextBlock",
  inlines: runs.map((run) => ({ type: "TextRun", ...run })),
});
