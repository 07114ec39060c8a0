import type { ObservedLine } from "@plimsoll/fold";
import {
  exact,
  familyOf,
  LINE_CAUSES,
  type LineCause,
  type LineVerdict,
  type WindowSource,
} from "@plimsoll/protocol/pure";
import type { OwnHarnessLine } from "./harness-line.ts";
import { hasLayers, lineSetting } from "./own-lines.ts";

/** What is known where a harness compacts elsewhere than its own line says. */
export interface LineFacts {
  harness: string;
  verdict: LineVerdict;
  line: OwnHarnessLine | undefined;
  observed: Pick<ObservedLine, "lowest" | "highest">;
  /** Of the turns before the falls. Tokens; undefined if unknown. */
  windowTokens: number | undefined;
  windowSource: WindowSource;
}

/** The smallest window that Claude Code compacts by, and where that leads, in tokens. */
const SMALLEST_WINDOW = 100_000;
const SMALLEST_LINE = 67_000;
/** Claude Code compacts idle sessions from this level on. */
const IDLE_FROM = 200_000;

const TESTS: Readonly<Record<LineCause, (facts: LineFacts, family: string) => boolean>> = {
  smallest_window: ({ verdict, observed }, family) =>
    family === "claude-code" &&
    verdict === "earlier" &&
    observed.highest <= SMALLEST_LINE * 1.05 &&
    observed.lowest >= SMALLEST_LINE * 0.85,
  window_size: ({ windowSource, windowTokens, observed, line }) =>
    line?.tokens !== undefined &&
    (windowSource !== "reported" || observed.highest > (windowTokens ?? observed.highest)),
  own_setting: ({ line }, family) => line?.basis === "computed" && lineSetting(family) !== undefined,
  environment: (_facts, family) => family === "claude-code" || family === "goose",
  percent_variable: ({ verdict }, family) => family === "claude-code" && verdict === "earlier",
  other_settings: (_facts, family) => hasLayers(family),
  input_limit: ({ verdict }, family) => verdict === "earlier" && (family === "opencode" || family === "kilo"),
  idle_compaction: ({ verdict, observed }, family) =>
    family === "claude-code" && verdict === "earlier" && observed.lowest >= IDLE_FROM,
  counted_scope: ({ verdict }, family) => family === "codex" && verdict === "later",
  experiment: ({ line }, family) =>
    line?.basis === "computed" && (family === "claude-code" || family === "gemini-cli"),
  old_session: ({ line }) => line?.basis === "acknowledged" || line?.basis === "off",
};

/** The causes that fit, the most telling ones first. Empty unless the observation differs from the line. */
export function lineCauses(facts: LineFacts): LineCause[] {
  if (facts.verdict !== "earlier" && facts.verdict !== "later" && facts.verdict !== "not_off") return [];
  const family = familyOf(facts.harness);
  return LINE_CAUSES.filter((cause) => TESTS[cause](facts, family));
}

/** A cause in a sentence. */
export function lineCauseText(cause: LineCause, harness: string): string {
  const family = familyOf(harness);
  switch (cause) {
    case "smallest_window":
      return `An auto-compact window below ${exact(SMALLEST_WINDOW)} counts as ${exact(SMALLEST_WINDOW)}, and the line is then ${exact(SMALLEST_LINE)}. The value "500k" is read as 500.`;
    case "window_size":
      return "The harness may use another window size than the one shown here. Set the size of the model in Setup.";
    case "own_setting":
      return `The line is computed from default settings, and the harness may have its own: ${lineSetting(family)}.`;
    case "environment":
      return family === "goose"
        ? "The variable GOOSE_AUTO_COMPACT_THRESHOLD wins over the settings file."
        : "CLAUDE_CODE_AUTO_COMPACT_WINDOW and --autocompact win over the settings files.";
    case "percent_variable":
      return "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE lowers the line.";
    case "other_settings":
      return "Settings of the project or of an administrator win over those of the user.";
    case "input_limit":
      return "A model with an input limit compacts at that limit less compaction.reserved.";
    case "idle_compaction":
      return "Claude Code also compacts sessions above 200,000 tokens that were idle for about an hour.";
    case "counted_scope":
      return 'With model_auto_compact_token_limit_scope = "body_after_prefix", Codex does not count the start of the prompt.';
    case "experiment":
      return "The maker of the harness tries other lines with some accounts.";
    case "old_session":
      return "A session that began before the setting changed may keep its old line.";
  }
}
