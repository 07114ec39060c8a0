import type { FamilyLine } from "../lines/family-line.ts";

export const deepagentsLine = {
  own: { rules: ["85%"], warning: "70%" },
} satisfies FamilyLine;
