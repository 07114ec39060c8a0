import { clip } from "../view/placeholder.ts";
import type { Section } from "./section.ts";

/** What is done without a model: at once, and always the same. Each says what was there. */

/** The first part of the content and how much there was. Cheap enough for hundreds at once. */
export function summariseWithoutModel(section: Section): string | undefined {
  const { length } = section.content;
  if (length < 240) return undefined;
  const head = clip(section.content, Math.min(400, length >> 3));
  return `[${clip(section.label, 80)} -- first part of ${length} characters]\n${head}`;
}

/** Never removed without a word: a model that does not know what is missing makes it up. */
export function stubOf(section: Section): string {
  return `[${clip(section.label, 80)} -- ${section.tokens} tokens left out; read it again rather than guess]`;
}

/** Names at most so many of those that were left out. */
const NAMED = 5;

/** One word for all sections left out, long and short. */
export function leftOutNotes(left: readonly Section[]): readonly [string, string] {
  const some = left.slice(-NAMED).map(({ label }) => clip(label, 40));
  const named = left.length > some.length ? `${some.join(", ")} and others` : some.join(", ");
  const sections = `${left.length} section${left.length === 1 ? "" : "s"}`;
  return [`[${sections} left out: ${named}; read them again rather than guess]`, `[${sections} left out]`];
}
