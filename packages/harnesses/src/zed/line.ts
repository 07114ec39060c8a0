import type { FamilyLine } from "../lines/family-line.ts";

export const zedLine = {
  // Of the window without room for output, which is not known here
  own: { rules: ["90%"], warning: "75%", small: { upTo: 79_999, rule: null }, setting: "agent.auto_compact" },
} satisfies FamilyLine;
