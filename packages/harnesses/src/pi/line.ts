import type { FamilyLine } from "../lines/family-line.ts";

export const piLine = {
  own: { rules: [-16_384], warning: "75%", setting: "compaction.reserveTokens", layered: true },
} satisfies FamilyLine;
