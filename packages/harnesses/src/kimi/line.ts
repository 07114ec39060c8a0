import type { FamilyLine } from "../lines/family-line.ts";

export const kimiLine = {
  // reserved_context_size and compaction_trigger_ratio
  own: {
    rules: [-50_000, "85%"],
    warning: "60%",
    setting: "loop_control.compaction_trigger_ratio or loop_control.reserved_context_size",
  },
  falls: ["Kimi compacted the conversation, and its hook is not connected."],
} satisfies FamilyLine;
