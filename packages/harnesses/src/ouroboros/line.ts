import type { FamilyLine } from "../lines/family-line.ts";

export const ouroborosLine = {
  preset: "ouroboros",
  falls: ["Ouroboros started a sub-tick or restarted, and the event was lost in a crash."],
} satisfies FamilyLine;
