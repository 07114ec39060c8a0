import type { PolicyEffectView } from "@plimsoll/protocol/api";
import { compact, plural } from "../format.ts";
import { differenceText, rateText } from "../insights/quality-words.ts";

/** In a few words. */
export function verdictText({ verdict, estimate }: PolicyEffectView): string {
  if (verdict === "too_early") return "too early to judge";
  if (verdict === "unclear") return "not certain";
  if (estimate === null) return verdict === "met" ? "fewer failed calls" : "more failed calls";
  return verdict === "met" ? "met the estimate" : "missed the estimate";
}

/** What a new ceiling did to failed tool calls. */
export function effectText({
  before,
  after,
  measured,
  estimate,
  verdict,
  ...ceilings
}: PolicyEffectView): string {
  const { ceiling, ceiling_before: earlier } = ceilings;
  const change =
    earlier === null
      ? `Ceiling ${compact(ceiling)} tokens`
      : `Ceiling ${compact(earlier)} to ${compact(ceiling)} tokens`;
  if (verdict === "too_early" || measured === null)
    return `${change}: judged with 30 sessions before it and 30 after it. There are ${before.sessions} and ${after.sessions}.`;
  const sample = `${before.sessions} and ${plural(after.sessions, "session")}`;
  const expected =
    estimate === null
      ? "Nothing was estimated: before it, failed calls were not certainly more above that level."
      : `Estimated: ${differenceText(estimate)} points.`;
  return `${change}: failed tool calls went from ${rateText(before.rate)} to ${rateText(after.rate)} of calls (${differenceText(measured)} points, ${sample}). ${expected}`;
}
