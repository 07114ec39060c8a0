import type { AlertEndReason } from "./notification.ts";

/** What ended an alert, in words. */
export const ALERT_END_TEXT: Readonly<Record<AlertEndReason, string>> = {
  below: "the condition no longer holds",
  session_ended: "the session ended",
  data_returned: "data arrives again",
  window_ended: "the window ended",
  rule_changed: "the rule was changed",
  rule_deleted: "the rule was deleted",
  subject_deleted: "the subject of the alert was deleted",
};
