import { createHash } from "node:crypto";
import type { AlertNotification } from "@plimsoll/protocol";
import { groupDigest } from "./group-digest.ts";
import { cut, factsOf, linkOf, messageOf, moreText, placeOf, plain, textOf, titleOf } from "./words.ts";

const MOST = { subject: 200, alerts: 10 };

export interface EmailMessage {
  subject: string;
  text: string;
  html: string;
  messageId: string;
  /** The same for all messages about a group, so that a mail program shows them as one conversation. */
  references: string;
}

/** A notification as e-mail, in plain text and HTML. */
export function formatEmail(notification: AlertNotification, baseUrl: string): EmailMessage {
  const title = titleOf(notification);
  const place = (digest: string) => `<${digest}@plimsoll.invalid>`;
  return {
    subject: cut(plain(`[Plimsoll] ${title}`, 1_000), MOST.subject),
    text: `${title}\n\n${textOf(notification, baseUrl)}\n`,
    html: htmlOf(notification, title, baseUrl),
    messageId: place(createHash("sha256").update(notification.id).digest("hex").slice(0, 32)),
    references: place(groupDigest(notification)),
  };
}

function htmlOf(notification: AlertNotification, title: string, baseUrl: string): string {
  const { alerts, omitted } = notification;
  const message = messageOf(notification);
  const listed = alerts.slice(0, MOST.alerts);
  const more = moreText(omitted + alerts.length - listed.length);
  const sections = listed.map((alert) => {
    const heading =
      alerts.length > 1
        ? `<h2 style="font-size:16px">${escaped(placeOf(alert) || alert.rule.name)}</h2>`
        : "";
    const rows = factsOf(alert).map(
      ({ name, text }) =>
        `<tr><th align="left" valign="top" style="padding:2px 16px 2px 0">${escaped(name)}</th><td>${escaped(text)}</td></tr>`,
    );
    return `${heading}<table>${rows.join("")}</table><p><a href="${escaped(linkOf(alert, baseUrl))}">Open in Plimsoll</a></p>`;
  });
  const parts = [
    `<h1 style="font-size:18px">${escaped(title)}</h1>`,
    ...(message === undefined ? [] : [`<p style="white-space:pre-line">${escaped(message)}</p>`]),
    ...sections,
    ...(more === "" ? [] : [`<p>${escaped(more)}</p>`]),
  ];
  return `<!doctype html><html><body style="font-family:sans-serif;font-size:14px">${parts.join("")}</body></html>`;
}

const escaped = (text: string) =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
