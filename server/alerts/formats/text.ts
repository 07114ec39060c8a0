/** Characters of a name in a message. */
const LONGEST_NAME = 200;

/** Cuts a text at whole characters, and says so. @param most UTF-16 units */
export function cut(text: string, most: number): string {
  if (text.length <= most) return text;
  let end = Math.max(0, most - 1);
  // Not between the halves of a character.
  if (/[\uD800-\uDBFF]/.test(text.charAt(end - 1))) end -= 1;
  return `${text.slice(0, end).trimEnd()}…`;
}

/** Cuts a text at whole characters, and says so. @param most bytes in UTF-8, at least 3 */
export function cutBytes(text: string, most: number): string {
  if (Buffer.byteLength(text) <= most) return text;
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(most - 3));
  return `${text.slice(0, read).trimEnd()}…`;
}

/** A text from outside, on one line, without what hides or reorders it. */
export function plain(text: string, most = LONGEST_NAME): string {
  const line = text
    .replace(/[\p{Cc}\u2028\u2029]+/gu, " ")
    .replace(/[\p{Cf}\p{Cs}]/gu, "")
    .trim();
  return cut(line, most);
}

/** A text from outside that may have several lines, without what hides or reorders it. */
export function plainLines(text: string): string {
  return text
    .replace(/\r\n?|[\u2028\u2029]/g, "\n")
    .replace(/[^\P{Cc}\n]+/gu, " ")
    .replace(/[\p{Cf}\p{Cs}]/gu, "")
    .trim();
}

/** A text, a time that a receiver may show in the time zone of its reader, or a link. */
export type MessagePart = string | { at: string } | MessageLink;

export interface MessageLink {
  /** Valid by RFC 3986, without a character that ends a link in some markup. */
  url: string;
  /** As it was written. */
  text: string;
}

/** Characters of a link. Slack accepts 3,000 and Discord 2,048. */
export const LONGEST_LINK = 2_000;

/** A text with the addresses in it as links, which together have at most `LONGEST_LINK` characters. */
export function linkedParts(text: string): MessagePart[] {
  const parts: MessagePart[] = [];
  let at = 0;
  let left = LONGEST_LINK;
  for (const { 0: found, index } of text.matchAll(/https?:\/\/[^\s<>"]+/gi)) {
    const written = withoutPunctuation(found);
    const url = linkUrl(written);
    if (url === undefined || url.length > left) continue;
    left -= url.length;
    if (index > at) parts.push(text.slice(at, index));
    parts.push({ url, text: written });
    at = index + written.length;
  }
  if (at < text.length) parts.push(text.slice(at));
  return parts;
}

/** An address ends before the punctuation of its sentence, and before a bracket that was opened before it. */
function withoutPunctuation(address: string): string {
  const open = { ")": "(", "]": "[", "}": "{" } as const;
  const count = (mark: string) => address.slice(0, end).split(mark).length;
  let end = address.length;
  for (; end > 0; end -= 1) {
    const last = address[end - 1]!;
    const isClosing = last in open && count(last) > count(open[last as keyof typeof open]);
    if (!isClosing && !/[.,;:!?'*_~`|]/.test(last)) break;
  }
  return address.slice(0, end);
}

/** Undefined for what is no address. */
function linkUrl(written: string): string | undefined {
  if (!URL.canParse(written)) return undefined;
  const { href } = new URL(written);
  const path = href.indexOf("/", "https://".length);
  return href.slice(0, path) + href.slice(path).replace(/[{}[\]|\\^`]/g, encodeURIComponent);
}

/** Such as `2026-11-23 14:03:22 UTC`. */
export function timeText(at: string): string {
  return `${new Date(at).toISOString().slice(0, 19).replace("T", " ")} UTC`;
}

const partText = (part: MessagePart): string =>
  typeof part === "string" ? part : "at" in part ? timeText(part.at) : part.text;

/** Parts as one text, with times in UTC. */
export const partsText = (parts: readonly MessagePart[]): string => parts.map(partText).join("");
