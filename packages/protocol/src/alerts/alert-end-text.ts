import { compact } from "../numbers.ts";
import type { AlertBoundary, AlertEndReason, AlertFacts } from "./notification.ts";

const TEXT: Readonly<Record<AlertEndReason, string>> = {
  below: "the condition no longer holds",
  session_ended: "the session ended",
  data_returned: "data arrives again",
  gone: "nothing came for a day, so it ended without saying so",
  window_ended: "the window ended",
  rule_changed: "the rule was changed",
  rule_deleted: "the rule was deleted",
  subject_deleted: "the subject of the alert was deleted",
};

/** What ended an alert, in words. Null while it is open. */
export function alertEndText({
  end_reason,
  ended_by,
}: Pick<AlertFacts, "end_reason" | "ended_by">): string | null {
  if (end_reason === null) return null;
  return end_reason === "below" && ended_by !== null ? boundaryText(ended_by) : TEXT[end_reason];
}

const WORDS: Readonly<Record<string, string>> = { subtick: "sub-tick", unexplained: "fell" };

/** Such as `compacted from 168k to 42k`. */
export function boundaryText({ type, tokens_before, tokens_after }: AlertBoundary): string {
  const from = tokens_before === null ? "" : ` from ${compact(tokens_before)}`;
  const to = tokens_after === null ? "" : ` to ${compact(tokens_after)}`;
  return `${WORDS[type] ?? type}${from}${to}`;
}
