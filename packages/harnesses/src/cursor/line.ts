import type { FamilyLine } from "../lines/family-line.ts";

export const cursorLine = {
  falls: ["Cursor summarized the conversation without an event."],
} satisfies FamilyLine;
