import { EXPERIMENT, type FamilyLine } from "../lines/family-line.ts";

export const geminiCliLine = {
  own: { rules: ["50%"], warning: "40%", setting: "model.compressionThreshold", layered: true },
  lineCauses: { experiment: EXPERIMENT },
  falls: [
    "Gemini CLI masked old tool output or compressed the chat, and its telemetry did not arrive.",
    "The user rewound the conversation.",
  ],
} satisfies FamilyLine;
