import type { FamilyLine } from "../lines/family-line.ts";

export const gooseLine = {
  own: { rules: ["80%"], warning: "65%", setting: "GOOSE_AUTO_COMPACT_THRESHOLD" },
  lineCauses: {
    environment: {
      fits: () => true,
      text: "The variable GOOSE_AUTO_COMPACT_THRESHOLD wins over the settings file.",
    },
  },
  falls: ["Goose replaced old tool calls with summaries, which it does without an event."],
} satisfies FamilyLine;
