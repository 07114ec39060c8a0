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

/** A text, or a time that a receiver may show in the time zone of its reader. */
export type MessagePart = string | { at: string };

/** Such as `2026-11-23 14:03:22 UTC`. */
export function timeText(at: string): string {
  return `${new Date(at).toISOString().slice(0, 19).replace("T", " ")} UTC`;
}

/** Parts as one text, with times in UTC. */
export const partsText = (parts: readonly MessagePart[]): string =>
  parts.map((part) => (typeof part === "string" ? part : timeText(part.at))).join("");
