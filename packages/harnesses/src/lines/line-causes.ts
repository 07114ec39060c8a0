import { LINE_CAUSES, type LineCause } from "@plimsoll/protocol/pure";
import type { FamilyLineCause, LineFacts } from "./family-line.ts";
import { familyLine } from "./family-lines.ts";

/** Causes of any family. The text may name the setting of a harness. */
const COMMON: Partial<Record<LineCause, FamilyLineCause>> = {
  window_size: {
    fits: ({ windowSource, windowTokens, observed, line }) =>
      line?.tokens !== undefined &&
      (windowSource !== "reported" || observed.highest > (windowTokens ?? observed.highest)),
    text: "The harness may use another window size than the one shown here. Set the size of the model in Setup.",
  },
  own_setting: {
    fits: ({ line, harness }) => line?.basis === "computed" && settingOf(harness) !== undefined,
    text: "The line is computed from default settings, and the harness may have its own",
  },
  other_settings: {
    fits: ({ harness }) => familyLine(harness)?.own?.layered === true,
    text: "Settings of the project or of an administrator win over those of the user.",
  },
  old_session: {
    fits: ({ line }) => line?.basis === "acknowledged" || line?.basis === "off",
    text: "A session that began before the setting changed may keep its old line.",
  },
};

const settingOf = (harness: string) => familyLine(harness)?.own?.setting;

const causeOf = (cause: LineCause, harness: string): FamilyLineCause | undefined =>
  familyLine(harness)?.lineCauses?.[cause] ?? COMMON[cause];

/** The causes that fit, the most telling ones first. Empty unless the observation differs from the line. */
export function lineCauses(facts: LineFacts): LineCause[] {
  if (facts.verdict !== "earlier" && facts.verdict !== "later" && facts.verdict !== "not_off") return [];
  return LINE_CAUSES.filter((cause) => causeOf(cause, facts.harness)?.fits(facts) === true);
}

/** A cause in a sentence. Empty for a cause that the family does not have, as of a newer server. */
export function lineCauseText(cause: LineCause, harness: string): string {
  const text = causeOf(cause, harness)?.text ?? "";
  return cause === "own_setting" ? `${text}: ${settingOf(harness)}.` : text;
}
