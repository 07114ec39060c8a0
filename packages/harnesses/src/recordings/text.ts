import { createHash } from "node:crypto";

const TITLE_LENGTH = 80;

/** Shortens a text to one line of at most `length` characters, cut between words if possible. */
export function shorten(text: string, length = TITLE_LENGTH): string {
  const line = text.replace(/\s+/g, " ").trim();
  const characters = [...line];
  if (characters.length <= length) return line;
  const head = characters.slice(0, length - 1).join("");
  const space = head.lastIndexOf(" ");
  return `${space > length / 2 ? head.slice(0, space) : head}…`;
}

/** A short, stable hash of a text, for event ids. */
export function digest(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 12);
}

/**
 * An id or name that the server takes: without NUL and half surrogate pairs, and not too long. A longer text is cut and
 * gets a digest, so that it stays distinct.
 */
export function fitName(text: string, length: number): string {
  const clean = text.replaceAll("\u0000", "\ufffd").toWellFormed();
  // The cut may split a pair.
  return clean.length <= length ? clean : `${clean.slice(0, length - 13).toWellFormed()}-${digest(clean)}`;
}

/** The name of a file without its folders and extensions. */
export function fileStem(path: string): string {
  const name = path.split("/").at(-1) ?? path;
  return name.replace(/\.(jsonl|json)(\.zstd?)?$/, "");
}

/** The text of a message: a string, or the first block with text. */
export function firstText(content: unknown): string | undefined {
  if (typeof content === "string") return content.trim() === "" ? undefined : content;
  if (!Array.isArray(content)) return undefined;
  for (const block of content) {
    const text = typeof block === "string" ? block : (block as { text?: unknown } | null)?.text;
    if (typeof text === "string" && text.trim() !== "") return text;
  }
  return undefined;
}

/** False for what a harness wrote in the name of the user: reminders, commands and their echoes. */
export function isPrompt(text: string): boolean {
  return !/^\s*[</]/.test(text);
}
