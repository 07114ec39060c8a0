import { createHash } from "node:crypto";
import type { AlertNotification } from "@plimsoll/protocol/alerts";
import { groupDigest } from "./group-digest.ts";
import { cut, partsText } from "./text.ts";
import {
  factsOf,
  fitAlerts,
  isSingle,
  type ListedAlerts,
  linkOf,
  messageOf,
  nameOf,
  textOf,
  titleOf,
} from "./words.ts";

const MOST = { subject: 200, alerts: 20 };

export interface EmailMessage {
  subject: string;
  text: string;
  html: string;
  messageId: string;
  /** The same for all messages about a group, so that a mail program shows them as one conversation. */
  references: string;
  headers: Record<string, string>;
}

/** A notification as e-mail, in plain text and HTML. */
export function formatEmail(notification: AlertNotification, baseUrl: string): EmailMessage {
  const title = titleOf(notification);
  const place = (digest: string) => `<${digest}@plimsoll.invalid>`;
  const text = fitAlerts(notification, MOST.alerts, (list) => textOf(notification, baseUrl, list));
  return {
    subject: cut(`[Plimsoll] ${title}`, MOST.subject),
    text: `${title}\n\n${text}\n`,
    html: fitAlerts(notification, MOST.alerts, (list) => htmlOf(notification, baseUrl, list)),
    messageId: place(createHash("sha256").update(notification.id).digest("hex").slice(0, 32)),
    references: place(groupDigest(notification)),
    // RFC 3834: an absent person's mailbox does not answer.
    headers: { "Auto-Submitted": "auto-generated", "X-Auto-Response-Suppress": "All" },
  };
}

function htmlOf(notification: AlertNotification, baseUrl: string, { listed, more }: ListedAlerts): string {
  const message = messageOf(notification);
  const sections = listed.map((alert) => {
    const heading = isSingle(notification) ? "" : `<h2 style="font-size:16px">${escaped(nameOf(alert))}</h2>`;
    const rows = factsOf(alert).map(
      ({ name, parts }) =>
        `<tr><th align="left" valign="top" style="padding:2px 16px 2px 0">${escaped(name)}</th><td>${escaped(partsText(parts))}</td></tr>`,
    );
    return `${heading}<table>${rows.join("")}</table><p><a href="${escaped(linkOf(alert, baseUrl))}">Open in Plimsoll</a></p>`;
  });
  const body = [
    `<h1 style="font-size:18px">${escaped(titleOf(notification))}</h1>`,
    ...(message === null ? [] : [`<p style="white-space:pre-line">${escaped(message)}</p>`]),
    ...sections,
    ...(more === "" ? [] : [`<p>${escaped(more)}</p>`]),
  ];
  return `<!doctype html><html><body style="font-family:sans-serif;font-size:14px">${body.join("")}</body></html>`;
}

const escaped = (text: string) =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
