import type { FamilyLine } from "../lines/family-line.ts";
import { INPUT_LIMIT } from "../opencode/line.ts";

export const kiloLine = {
  own: {
    rules: [-32_000],
    warning: "75%",
    setting: "compaction.threshold_percent or the model's limit",
    layered: true,
  },
  lineCauses: { input_limit: INPUT_LIMIT },
  falls: ["Kilo pruned old tool output, which it does without an event.", "The user reverted messages."],
} satisfies FamilyLine;
