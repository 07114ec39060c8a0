import type { FamilyLine } from "../lines/family-line.ts";

export const phantomLine = {
  preset: "phantom",
  falls: ["Phantom masked observations while its event queue was off."],
} satisfies FamilyLine;
