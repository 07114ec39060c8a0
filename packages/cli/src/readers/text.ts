import { createHash } from "node:crypto";

const TITLE_LENGTH = 80;

/** One line of at most 80 characters, cut between words where it can be. */
export function shorten(text: string, length = TITLE_LENGTH): string {
  const line = text.replace(/\s+/g, " ").trim();
  const characters = [...line];
  if (characters.length <= length) return line;
  const head = characters.slice(0, length - 1).join("");
  const space = head.lastIndexOf(" ");
  return `${space > length / 2 ? head.slice(0, space) : head}…`;
}

/** A short, stable name for a text: equal texts give equal event ids. */
export function digest(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 12);
}

/** Ids and names have length limits; what is longer keeps its head and gains a digest, so that it stays distinct. */
export function fit(text: string, length: number): string {
  const clean = text.replaceAll("\u0000", "");
  return clean.length <= length ? clean : `${clean.slice(0, length - 13)}-${digest(clean)}`;
}
