import type { FamilyLine } from "../lines/family-line.ts";

export const crushLine = {
  own: { rules: [-20_000], warning: "70%", small: { upTo: 200_000, rule: "80%" } },
} satisfies FamilyLine;
