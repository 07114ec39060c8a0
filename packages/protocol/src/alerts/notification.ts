import { z } from "zod";

const time = z.iso.datetime({ offset: true });
const tokens = z.number().int().nonnegative();

export const ALERT_SEVERITIES = ["critical", "warning", "info"] as const;
export type AlertSeverity = (typeof ALERT_SEVERITIES)[number];

/** Why an alert ended. */
export const ALERT_END_REASONS = [
  "below",
  "session_ended",
  "data_returned",
  "window_ended",
  "gone",
  "rule_changed",
  "rule_deleted",
  "subject_deleted",
] as const;
export type AlertEndReason = (typeof ALERT_END_REASONS)[number];

/** What an alert is about. A part that does not apply is null: a fleet has no session, an ingestion problem no agent. */
export const AlertSubject = z.object({
  harness: z.string().nullable(),
  session: z.string().nullable(),
  agent: z.string().nullable(),
  model: z.string().nullable(),
});
export type AlertSubject = z.infer<typeof AlertSubject>;

/** The level that an alert is about. Tokens. */
export const AlertLevel = z.object({
  context_tokens: tokens,
  window_tokens: tokens.nullable(),
  /** The threshold that it is measured against, such as `ceiling`, and its tokens. */
  line: z.string().nullable(),
  line_tokens: tokens.nullable(),
});
export type AlertLevel = z.infer<typeof AlertLevel>;

/** A boundary before an alert. */
export const AlertBoundary = z.object({
  type: z.string(),
  at: time,
  tokens_before: tokens.nullable(),
  tokens_after: tokens.nullable(),
});
export type AlertBoundary = z.infer<typeof AlertBoundary>;

/** One alert as a notification describes it. */
export const AlertFacts = z.object({
  /** The same for all messages about one firing. */
  id: z.string(),
  rule: z.object({ id: z.string(), name: z.string(), severity: z.enum(ALERT_SEVERITIES) }),
  /** The kind of the rule's condition, such as `load`. */
  condition: z.string(),
  subject: AlertSubject,
  labels: z.record(z.string(), z.string()),
  /** When the condition became true, by event time. */
  started_at: time,
  /** When the rule's `for` was over. */
  fired_at: time,
  resolved_at: time.nullable(),
  end_reason: z.enum(ALERT_END_REASONS).nullable(),
  /** Who acknowledged it. */
  acknowledged_by: z.string().nullable(),
  /** In plain words, why it fired: `Load 104 % of the ceiling (80,000 tokens) for 3 turns`. */
  why: z.string(),
  /** What to do next. Null once it has ended, and if the rule has a message of its own. */
  advice: z.string().nullable(),
  /** The latest that was seen: when it fired, or while it fires, or at its end. */
  level: AlertLevel.nullable(),
  /** The last three boundaries, newest first. */
  boundaries: z.array(AlertBoundary).max(3),
  /** The boundary that brought the level down, if one ended the alert. */
  ended_by: AlertBoundary.nullable(),
  /** Path on the server that opens what the alert is about, at that turn. */
  path: z.string(),
});
export type AlertFacts = z.infer<typeof AlertFacts>;

export const NOTIFICATION_KINDS = ["firing", "repeated", "acknowledged", "resolved", "test"] as const;
export type NotificationKind = (typeof NOTIFICATION_KINDS)[number];

/** The content of a notification: one group of alerts, at least one of which changed. */
export const AlertNotification = z.object({
  /** Stable over all attempts, so that a receiver can drop repetitions: the `webhook-id`. */
  id: z.string(),
  kind: z.enum(NOTIFICATION_KINDS),
  project: z.object({ id: z.number().int(), name: z.string() }),
  /** By which rule and harness the alerts are grouped. Stable while any of them fires: the key a receiver dedups by. */
  group: z.string(),
  /** Of the rule, if its author wrote one. */
  message: z.string().nullable(),
  /** Changed ones first. At most 50; `omitted` says how many are not listed. */
  alerts: z.array(AlertFacts).max(50),
  omitted: z.number().int().nonnegative(),
  at: time,
});
export type AlertNotification = z.infer<typeof AlertNotification>;
