import type { Sql } from "../../db/sql.ts";

/** Rows a statement deletes at most, so that no step holds locks for long. */
const ROWS = 5_000;

/**
 * Every table with rows of a project, and the rest of its primary key. The leases and the journal come first, so that
 * nobody writes rows afterwards; owners come before what they own.
 */
export const PROJECT_TABLES: Readonly<Record<string, string>> = {
  projectors: "project_id",
  alert_evaluators: "project_id",
  journal: "id",
  api_keys: "id",
  model_windows: "model",
  observed_windows: "harness, model",
  record_mappings: "name",
  refolds: "agent_id",
  rejected_events: "id",
  session_tags: "session_id, tag",
  session_notes: "session_id",
  session_views: "id",
  sessions: "id",
  agents: "id",
  segments: "agent, ends_at",
  agent_outcomes: "agent",
  agent_contents: "agent_id",
  windows: "agent_id, index",
  crossings: "agent_id, id",
  boundaries: "agent_id, id",
  turn_blocks: "agent, first_at, first_key",
  harnesses: "id",
  machines: "name",
  quota_percents: "owner_kind, owner, provider, name, window_minutes, resets_at, used_percent",
  models: "id",
  rollups: "grain, harness, bucket, model",
  packed_minutes: "harness, bucket, model",
  boundary_rollups: "grain, harness, bucket, type",
  insight_rollups: "grain, bucket, harness, model, what",
  rollup_names: "day, harness, model",
  ingest_counts: "day, outcome",
  removed_counts: "counted_in, what",
  ingest_refusals: "harness, type, code, path",
  unmapped_telemetry: "signal, service, scope, name, reason",
  policy_versions: "generation",
  policy_steps: "revision",
  policy_rollouts: "generation",
  alert_rules: "id",
  alerts: "id",
  alert_groups: "key",
  alert_silences: "id",
  alert_signals: "id",
  alert_endpoints: "id",
  alert_attempts: "endpoint_id, delivery_id, number",
  alert_deliveries: "endpoint_id, id",
};

const STATEMENTS = Object.entries(PROJECT_TABLES).map(
  ([table, key]) => `
    DELETE FROM ${table} WHERE project_id = $1 AND (${key}) IN (
      SELECT ${key} FROM ${table} WHERE project_id = $1 ORDER BY ${key} LIMIT ${ROWS})`,
);

/**
 * Deletes up to 5,000 rows of a project that is marked as deleting; run each step in its own transaction. Steps are
 * idempotent: after a crash, call again. The step that finds no rows deletes the project itself.
 * @returns false once nothing is left
 * @throws Error if the project is not marked as deleting
 */
export async function deleteProjectStep(sql: Sql, projectId: number): Promise<boolean> {
  const [project] = await sql.query<{ deleting: boolean }>(
    "SELECT deleting_at IS NOT NULL AS deleting FROM projects WHERE id = $1",
    projectId,
  );
  if (project === undefined) return false;
  if (!project.deleting) throw new Error(`Project ${projectId} is not marked as deleting.`);
  // Another process may be at the same project. It goes on; this one looks again later.
  const mine = await sql.query("SELECT 1 FROM projects WHERE id = $1 FOR UPDATE SKIP LOCKED", projectId);
  if (mine.length === 0) return true;
  for (const statement of STATEMENTS) {
    if ((await sql.execute(statement, projectId)) > 0) return true;
  }
  await sql.execute("DELETE FROM projects WHERE id = $1", projectId);
  return false;
}
