import { exact } from "@plimsoll/protocol/pure";
import { EXPERIMENT, type FamilyLine } from "../lines/family-line.ts";

/** The smallest window that Claude Code compacts by, and where that leads, in tokens. */
const SMALLEST_WINDOW = 100_000;
const SMALLEST_LINE = 67_000;
/** Claude Code compacts idle sessions from this level on. */
const IDLE_FROM = 200_000;

export const claudeCodeLine = {
  // autoCompactWindow − min(maxOutput, 20,000) − 13,000
  own: { rules: [-33_000], warning: "70%", setting: "autoCompactWindow", layered: true },
  lineCauses: {
    smallest_window: {
      fits: ({ verdict, observed }) =>
        verdict === "earlier" &&
        observed.highest <= SMALLEST_LINE * 1.05 &&
        observed.lowest >= SMALLEST_LINE * 0.85,
      text: `An auto-compact window below ${exact(SMALLEST_WINDOW)} counts as ${exact(SMALLEST_WINDOW)}, and the line is then ${exact(SMALLEST_LINE)}. The value "500k" is read as 500.`,
    },
    environment: {
      fits: () => true,
      text: "CLAUDE_CODE_AUTO_COMPACT_WINDOW and --autocompact win over the settings files.",
    },
    percent_variable: {
      fits: ({ verdict }) => verdict === "earlier",
      text: "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE lowers the line.",
    },
    idle_compaction: {
      fits: ({ verdict, observed }) => verdict === "earlier" && observed.lowest >= IDLE_FROM,
      text: "Claude Code also compacts sessions above 200,000 tokens that were idle for about an hour.",
    },
    tool_loop: {
      fits: ({ verdict }) => verdict === "later",
      text: "With -p, Claude Code does not compact between two calls of tools: a long run ends above the line, and the next prompt compacts.",
    },
    experiment: EXPERIMENT,
  },
  falls: [
    "Claude Code cleared old tool results, which it does without an event.",
    "The user rewound the conversation to an earlier message.",
    "The session was resumed or forked, and a part of the transcript was not imported.",
  ],
} satisfies FamilyLine;
