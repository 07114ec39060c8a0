import type { FamilyLine } from "../lines/family-line.ts";

export const copilotLine = {
  own: { rules: ["80%"], warning: "65%" },
  falls: ["Copilot truncated its history, and the span event did not arrive."],
} satisfies FamilyLine;
