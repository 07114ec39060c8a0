import { clip } from "../view/placeholder.ts";
import type { Section } from "./section.ts";

/**
 * Returns the first part of the content and its original length, or `undefined` if the section is short. Uses no
 * model.
 */
export function summariseWithoutModel(section: Section): string | undefined {
  const { length } = section.content;
  if (length < 240) return undefined;
  const head = clip(section.content, Math.min(400, length >> 3));
  return `[${clip(section.label, 80)} -- first part of ${length} characters]\n${head}`;
}

/** Returns a one-line stub. A model that does not know what is missing invents it. */
export function stubOf(section: Section): string {
  return `[${clip(section.label, 80)} -- ${section.tokens} tokens left out; read it again rather than guess]`;
}

/** Maximum number of left-out sections that the note names. */
const MAX_NAMED = 5;

/** Returns a long and a short note about all left-out sections. */
export function leftOutNotes(left: readonly Section[]): readonly [string, string] {
  const some = left.slice(-MAX_NAMED).map(({ label }) => clip(label, 40));
  const named = left.length > some.length ? `${some.join(", ")} and others` : some.join(", ");
  const sections = `${left.length} section${left.length === 1 ? "" : "s"}`;
  return [`[${sections} left out: ${named}; read them again rather than guess]`, `[${sections} left out]`];
}
