import type { AlertNotification, TargetOf } from "@plimsoll/protocol";
import type { OutgoingRequest } from "../send-request.ts";
import type { FormatContext } from "./index.ts";
import { jsonRequest } from "./json-request.ts";
import { alertLine, cut, factsOf, linkOf, messageOf, moreText, plain, titleOf } from "./words.ts";

/** Slack's limits: characters of a header and of a text, fields of a section, and alerts so that 50 blocks suffice. */
const MOST = { header: 150, text: 3_000, field: 2_000, fields: 10, alerts: 15 };

/** Block Kit. Texts from outside are `plain_text`, in which Slack sees no mention, link or markup. */
export function formatSlack(
  { url }: TargetOf<"slack">,
  notification: AlertNotification,
  { baseUrl }: FormatContext,
): OutgoingRequest {
  const { alerts, omitted } = notification;
  const message = messageOf(notification);
  const title = titleOf(notification);
  const listed = alerts.slice(0, MOST.alerts);
  const more = moreText(omitted + alerts.length - listed.length);
  const [only] = alerts.length === 1 ? alerts : [];
  const blocks = [
    { type: "header", text: text(title, MOST.header) },
    ...(message === undefined ? [] : [{ type: "section", text: text(message, MOST.text) }]),
    ...(only === undefined
      ? listed.flatMap((alert) => [
          { type: "section", text: text(alertLine(alert), MOST.text) },
          link(linkOf(alert, baseUrl)),
        ])
      : [
          {
            type: "section",
            fields: factsOf(only)
              .slice(0, MOST.fields)
              .map(({ name, text: said }) => text(`${name}\n${said}`, MOST.field)),
          },
          link(linkOf(only, baseUrl)),
        ]),
    ...(more === "" ? [] : [{ type: "context", elements: [text(more, MOST.text)] }]),
  ];
  // What a notification on a phone shows. Slack reads markup in it.
  return jsonRequest(url, { text: escaped(plain(title, MOST.text)), blocks, unfurl_links: false });
}

const text = (said: string, most: number) => ({ type: "plain_text", text: cut(said, most), emoji: false });

const link = (url: string) => ({
  type: "context",
  elements: [
    { type: "mrkdwn", text: `<${encodeURI(decodeURI(url)).replaceAll("|", "%7C")}|Open in Plimsoll>` },
  ],
});

const escaped = (said: string) =>
  said.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
