import type { FamilyLine } from "../lines/family-line.ts";

export const qwenCodeLine = {
  own: { rules: ["85%", -33_000], warning: "70%", setting: "context.autoCompactThreshold", layered: true },
} satisfies FamilyLine;
