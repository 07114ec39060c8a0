import { z } from "zod";

const time = z.iso.datetime({ offset: true });

export const AUDIT_ACTIONS = [
  "login",
  "login_failed",
  "logout",
  "browser_signed_out",
  "login_link_made",
  "person_added",
  "person_link_made",
  "person_removed",
  "role_set",
  "passkey_added",
  "passkey_removed",
  "machine_approved",
  "machine_denied",
  "key_created",
  "key_rotated",
  "key_revoked",
  "window_set",
  "window_removed",
  "mapping_saved",
  "mapping_removed",
  "project_created",
  "project_renamed",
  "project_archived",
  "project_unarchived",
  "names_hidden",
  "names_shown",
  "budget_set",
  "project_deleted",
  "sessions_deleted",
  "sessions_restored",
  "harnesses_deleted",
  "harnesses_restored",
  "retention_set",
  "policy_saved",
  "policy_rolled_back",
  "rollout_advanced",
  "rollout_halted",
  "rollout_resumed",
  "rollout_next_set",
  "alert_rule_created",
  "alert_rule_changed",
  "alert_rule_deleted",
  "alert_silenced",
  "alert_silence_ended",
  "alert_acknowledged",
  "alert_endpoint_created",
  "alert_endpoint_changed",
  "alert_endpoint_deleted",
  "alert_endpoint_tested",
  "alert_redelivered",
  "session_tagged",
  "session_untagged",
  "session_note_saved",
  "session_view_saved",
  "session_view_deleted",
  "backup_written",
  "backup_restored",
  "demo_started",
  "demo_stopped",
] as const;
export const AuditAction = z.enum(AUDIT_ACTIONS);
export type AuditAction = z.infer<typeof AuditAction>;

/** What actions are about, to filter by. */
export const AUDIT_TOPICS = {
  logins: [
    "login",
    "login_failed",
    "logout",
    "browser_signed_out",
    "login_link_made",
    "machine_approved",
    "machine_denied",
  ],
  people: [
    "person_added",
    "person_link_made",
    "person_removed",
    "role_set",
    "passkey_added",
    "passkey_removed",
  ],
  keys: ["key_created", "key_rotated", "key_revoked"],
  windows: ["window_set", "window_removed"],
  mappings: ["mapping_saved", "mapping_removed"],
  projects: [
    "project_created",
    "project_renamed",
    "project_archived",
    "project_unarchived",
    "names_hidden",
    "names_shown",
    "budget_set",
    "project_deleted",
  ],
  deletions: [
    "sessions_deleted",
    "sessions_restored",
    "harnesses_deleted",
    "harnesses_restored",
    "retention_set",
  ],
  policies: [
    "policy_saved",
    "policy_rolled_back",
    "rollout_advanced",
    "rollout_halted",
    "rollout_resumed",
    "rollout_next_set",
  ],
  alerts: [
    "alert_rule_created",
    "alert_rule_changed",
    "alert_rule_deleted",
    "alert_silenced",
    "alert_silence_ended",
    "alert_acknowledged",
    "alert_endpoint_created",
    "alert_endpoint_changed",
    "alert_endpoint_deleted",
    "alert_endpoint_tested",
    "alert_redelivered",
  ],
  sessions: [
    "session_tagged",
    "session_untagged",
    "session_note_saved",
    "session_view_saved",
    "session_view_deleted",
  ],
  backups: ["backup_written", "backup_restored"],
  demo: ["demo_started", "demo_stopped"],
} as const satisfies Record<string, readonly AuditAction[]>;
export type AuditTopic = keyof typeof AUDIT_TOPICS;
export const AuditTopic = z.enum(Object.keys(AUDIT_TOPICS) as [AuditTopic, ...AuditTopic[]]);

export const AuditEntryView = z.object({
  id: z.string(),
  at: time,
  /** One of `AUDIT_ACTIONS`; newer servers may know more. */
  action: z.string(),
  actor: z.object({
    /** `person`, `browser`, `local` (the command line), `key`, `server` or `visitor` (without a valid credential). */
    kind: z.string(),
    /** Of the person, the key or the browser's session. */
    id: z.string().nullable(),
    /** Of the person or the key, or the browser such as `Firefox on Linux`. */
    name: z.string().nullable(),
    /** Of the client. Shown to persons only. */
    address: z.string().nullable(),
  }),
  /** Null for what concerns no single project. */
  project_id: z.number().int().nullable(),
  /** Its name now; null if it was deleted. */
  project: z.string().nullable(),
  /** What was changed, by its name. */
  target: z.string().nullable(),
  detail: z.string().nullable(),
  /** More than one for failed logins, which are counted for each client and hour. */
  count: z.number().int(),
});
export type AuditEntryView = z.infer<typeof AuditEntryView>;

/** Newest first. */
export const AuditPage = z.object({ items: z.array(AuditEntryView), next_cursor: z.string().nullable() });
export type AuditPage = z.infer<typeof AuditPage>;
