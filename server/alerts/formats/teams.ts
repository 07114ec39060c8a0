import type { AlertNotification, TargetOf } from "@plimsoll/protocol/alerts";
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

/** Teams refuses messages above 28 KB. The texts are limited in characters. */
const MOST = { title: 300, message: 2_000, text: 600, alerts: 20, bytes: 24_000 };

const COLOUR = { critical: "Attention", warning: "Warning", info: "Accent" } as const;

/** An Adaptive Card. Texts are runs, in which Teams sees no markup and no mention. A run with an address of the rule's message opens it. */
export function formatTeams(
  { url }: TargetOf<"teams">,
  notification: AlertNotification,
  { baseUrl }: FormatContext,
): OutgoingRequest {
  const content = fitAlerts(
    notification,
    MOST.alerts,
    (list) => cardOf(notification, baseUrl, list),
    (card) => Buffer.byteLength(JSON.stringify(card)) <= MOST.bytes,
  );
  const attachment = { contentType: "application/vnd.microsoft.card.adaptive", contentUrl: null, content };
  return jsonRequest(url, { type: "message", attachments: [attachment] });
}

function cardOf(notification: AlertNotification, baseUrl: string, { listed, more }: ListedAlerts) {
  const message = messageOf(notification);
  const color = isOver(notification) ? "Good" : COLOUR[severityOf(notification)];
  return {
    $schema: "http://adaptivecards.io/schemas/adaptive-card.json",
    type: "AdaptiveCard",
    version: "1.4",
    msteams: { width: "Full" },
    body: [
      line({ text: literal(titleOf(notification), MOST.title), weight: "Bolder", size: "Medium", color }),
      ...(message === null ? [] : [line(...linkedParts(cut(message, MOST.message)).map(runOf))]),
      ...(isSingle(notification)
        ? listed
            .flatMap(factsOf)
            .map(({ name, parts }) =>
              line({ text: `${name}: `, weight: "Bolder" }, { text: literal(partsText(parts), MOST.text) }),
            )
        : listed.map((alert) => line({ text: literal(partsText(alertParts(alert)), MOST.text) }))),
      ...(more === "" ? [] : [line({ text: more, isSubtle: true })]),
    ],
    actions: listed.slice(0, 1).map((alert) => ({
      type: "Action.OpenUrl",
      title: "Open in Plimsoll",
      url: linkOf(alert, baseUrl),
    })),
  };
}

/** Teams may replace `{{DATE(…)}}` in a run. */
const literal = (text: string, most: number) => cut(text.replace(/\{(?=\{)/g, "{ "), most);

const runOf = (part: MessagePart): Run =>
  typeof part === "string" || "at" in part
    ? { text: literal(partsText([part]), MOST.message) }
    : {
        text: literal(part.text, MOST.message),
        color: "Accent",
        selectAction: { type: "Action.OpenUrl", url: part.url },
      };

interface Run {
  text: string;
  weight?: "Bolder";
  size?: "Medium";
  color?: string;
  isSubtle?: boolean;
  selectAction?: { type: "Action.OpenUrl"; url: string };
}

const line = (...runs: Run[]) => ({
  type: "RichTextBlock",
  inlines: runs.map((run) => ({ type: "TextRun", ...run })),
});
