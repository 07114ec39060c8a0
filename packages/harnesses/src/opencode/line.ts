import type { FamilyLine, FamilyLineCause } from "../lines/family-line.ts";

export const INPUT_LIMIT: FamilyLineCause = {
  fits: ({ verdict }) => verdict === "earlier",
  text: "A model with an input limit compacts at that limit less compaction.reserved.",
};

export const opencodeLine = {
  // The most output that it requests. A model with an input limit compacts at that limit − compaction.reserved.
  own: {
    rules: [-32_000],
    warning: "75%",
    setting: "the model's limit or compaction.reserved",
    layered: true,
  },
  lineCauses: { input_limit: INPUT_LIMIT },
  falls: ["opencode pruned old tool output, which it does without an event.", "The user reverted messages."],
} satisfies FamilyLine;
