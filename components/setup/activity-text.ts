import type { AuditAction, AuditEntryView } from "@plimsoll/protocol/api";
import { exact } from "../format.ts";

const ACTION_TEXT: Readonly<Record<AuditAction, string>> = {
  login: "Signed in",
  login_failed: "Login failed",
  logout: "Signed out",
  browser_signed_out: "Browser signed out",
  machine_approved: "Machine login confirmed",
  login_link_made: "Login link made",
  person_added: "Person added",
  person_link_made: "Link made for a person",
  person_removed: "Person removed",
  passkey_added: "Passkey added",
  passkey_removed: "Passkey removed",
  role_set: "Role changed",
  machine_denied: "Machine login refused",
  key_created: "Key created",
  key_rotated: "Key rotated",
  key_revoked: "Key revoked",
  window_set: "Model window set",
  window_removed: "Model window removed",
  mapping_saved: "Mapping saved",
  mapping_removed: "Mapping removed",
  project_created: "Project created",
  project_renamed: "Project renamed",
  project_archived: "Project archived",
  project_unarchived: "Project unarchived",
  names_hidden: "Names of people hidden",
  names_shown: "Names of people shown",
  project_deleted: "Project deleted",
  sessions_deleted: "Sessions deleted",
  sessions_restored: "Sessions restored",
  harnesses_deleted: "Harnesses deleted",
  harnesses_restored: "Harnesses restored",
  budget_set: "Budget set",
  retention_set: "Retention set",
  policy_saved: "Policy saved",
  policy_rolled_back: "Policy rolled back",
  rollout_advanced: "Rollout advanced",
  rollout_halted: "Rollout halted",
  rollout_resumed: "Rollout resumed",
  rollout_next_set: "Rollout offered to more harnesses",
  alert_rule_created: "Alert rule created",
  alert_rule_changed: "Alert rule changed",
  alert_rule_deleted: "Alert rule deleted",
  alert_silenced: "Alerts silenced",
  alert_silence_ended: "Silence ended",
  alert_acknowledged: "Alert acknowledged",
  alert_endpoint_created: "Alert endpoint created",
  alert_endpoint_changed: "Alert endpoint changed",
  alert_endpoint_deleted: "Alert endpoint deleted",
  alert_endpoint_tested: "Alert endpoint tested",
  alert_redelivered: "Alert sent again",
  session_tagged: "Sessions tagged",
  session_untagged: "Tag removed",
  session_note_saved: "Note saved",
  session_view_saved: "View saved",
  session_view_deleted: "View deleted",
  backup_written: "Backup written",
  backup_restored: "Backup restored",
  demo_started: "Demo started",
  demo_stopped: "Demo stopped",
};

const TEXTS: ReadonlyMap<string, string> = new Map(Object.entries(ACTION_TEXT));

/** What happened. A newer server may know more actions. */
export function actionText({ action, count }: Pick<AuditEntryView, "action" | "count">): string {
  const known = TEXTS.get(action) ?? action.replaceAll("_", " ");
  return count > 1 ? `${known} ${exact(count)} times` : known;
}

/** Who did it. */
export function actorText({ kind, id, name, address }: AuditEntryView["actor"]): string {
  switch (kind) {
    case "person":
    case "browser":
      return [name ?? "Unknown browser", address].filter((part) => part !== null).join(", ");
    case "key":
      return `Key ${name ?? id}`;
    case "local":
      return "Command line";
    case "server":
      return "Server";
    case "visitor":
      return address ?? "Other clients";
    default:
      return kind;
  }
}

/** Who wrote a note or a rule, for example; null if that was not stored. */
export const authorText = ({ actor, actor_name }: { actor: string | null; actor_name: string | null }) =>
  actor === null ? null : actorText({ kind: actor, id: null, name: actor_name, address: null });

/** The project, unless everything happens in one, or the entry is about the project itself. */
export function projectText(
  { action, project_id, project }: Pick<AuditEntryView, "action" | "project_id" | "project">,
  several: boolean,
): string | null {
  if (project_id === null || action.startsWith("project_")) return null;
  if (project === null) return `project ${project_id}, deleted`;
  return several ? project : null;
}
