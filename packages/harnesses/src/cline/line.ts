import type { FamilyLine } from "../lines/family-line.ts";

export const clineLine = {
  own: { rules: ["81%"], warning: "65%" },
  falls: ["Cline truncated or condensed the conversation, which it reports without token counts."],
} satisfies FamilyLine;
