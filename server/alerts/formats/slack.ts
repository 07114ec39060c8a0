import type { AlertFacts, AlertNotification, TargetOf } from "@plimsoll/protocol/alerts";
import type {
  KnownBlock,
  PlainTextElement,
  RichTextBlock,
  RichTextElement,
  RichTextLink,
  RichTextSection,
} from "@slack/types";
import type { OutgoingRequest } from "../delivery/send-request.ts";
import type { FormatContext } from "./index.ts";
import { jsonRequest } from "./json-request.ts";
import { cut, linkedParts, type MessagePart, timeText } from "./text.ts";
import {
  type AlertFact,
  alertParts,
  factsOf,
  fitAlerts,
  isSingle,
  type ListedAlerts,
  linkOf,
  messageOf,
  summaryOf,
  titleOf,
} from "./words.ts";

/**
 * Slack's limits in characters: of a header and a section, and of all blocks as JSON. Slack documents no limit for all blocks and
 * refuses about 13,200.
 */
const MOST = { header: 150, text: 2_000, alerts: 15, link: 500, blocks: 12_000 };

/**
 * Block Kit. Slack sees no mention, link or markup in `plain_text` and in the text elements of `rich_text`. Addresses in the rule's
 * message are link elements.
 */
export function formatSlack(
  { url }: TargetOf<"slack">,
  notification: AlertNotification,
  { baseUrl }: FormatContext,
): OutgoingRequest {
  const blocks = fitAlerts(
    notification,
    MOST.alerts,
    (list) => blocksOf(notification, baseUrl, list),
    (built) => JSON.stringify(built).length <= MOST.blocks,
  );
  // What a notification on a phone shows. Slack reads markup in it.
  const text = escaped(cut(summaryOf(notification), MOST.text));
  return jsonRequest(url, { text, blocks, unfurl_links: false, unfurl_media: false });
}

function blocksOf(
  notification: AlertNotification,
  baseUrl: string,
  { listed, more }: ListedAlerts,
): KnownBlock[] {
  const message = messageOf(notification);
  return [
    { type: "header", text: plainText(titleOf(notification), MOST.header) },
    ...messageBlocks(message),
    ...(listed.length === 0 ? [] : [alertsBlock(listed, isSingle(notification), baseUrl)]),
    ...moreBlocks(more),
  ];
}

const messageBlocks = (message: string | null): KnownBlock[] =>
  message === null
    ? []
    : [{ type: "rich_text", elements: [section(linkedParts(cut(message, MOST.text)).map(element))] }];

const moreBlocks = (more: string): KnownBlock[] =>
  more === "" ? [] : [{ type: "context", elements: [plainText(more, MOST.text)] }];

function alertsBlock(listed: readonly AlertFacts[], isOnly: boolean, baseUrl: string): RichTextBlock {
  if (isOnly) return { type: "rich_text", elements: listed.map((alert) => factsSection(alert, baseUrl)) };
  const items = listed.map((alert) =>
    section([...alertParts(alert).map(element), lineBreak, link(linkOf(alert, baseUrl, MOST.link))]),
  );
  return { type: "rich_text", elements: [{ type: "rich_text_list", style: "bullet", elements: items }] };
}

const factsSection = (alert: AlertFacts, baseUrl: string): RichTextSection =>
  section([...factsOf(alert).flatMap(factElements), link(linkOf(alert, baseUrl))]);

const factElements = ({ name, parts }: AlertFact): RichTextElement[] => [
  { type: "text", text: `${name}: `, style: { bold: true } },
  ...parts.map(element),
  lineBreak,
];

const section = (elements: RichTextElement[]): RichTextSection => ({ type: "rich_text_section", elements });

const lineBreak: RichTextElement = { type: "text", text: "\n" };

const plainText = (text: string, most: number): PlainTextElement => ({
  type: "plain_text",
  text: cut(text, most),
  emoji: false,
});

const link = (url: string, text = "Open in Plimsoll"): RichTextLink => ({ type: "link", url, text });

/** Slack shows a time in the reader's time zone. */
function element(part: MessagePart): RichTextElement {
  if (typeof part === "string") return { type: "text", text: part };
  if ("url" in part) return link(part.url, part.text);
  return {
    type: "date",
    timestamp: Math.floor(Date.parse(part.at) / 1_000),
    format: "{date_num} {time_secs}",
    fallback: timeText(part.at),
  };
}

const escaped = (text: string) =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
