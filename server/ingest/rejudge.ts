import type { Statement } from "../store/table.ts";

/**
 * Queues a new fold of every agent with events at or after a time, because its thresholds changed then. Retries agents that could
 * not be folded.
 */
const REJUDGE = `
INSERT INTO refolds (project_id, agent_id, reason)
SELECT $1::int4, a.id, 'policy' FROM sessions s JOIN agents a ON a.project_id = $1 AND a.session_id = s.id
WHERE s.project_id = $1 AND s.last_at >= to_timestamp($2::float8 / 1000) AND ($3::text IS NULL OR s.harness = $3)
  AND a.last_at >= to_timestamp($2::float8 / 1000)
ON CONFLICT (project_id, agent_id) DO UPDATE SET reason = EXCLUDED.reason WHERE refolds.reason = 'failed'`;

/**
 * @param from epoch ms
 * @param harness undefined for all harnesses
 */
export function rejudge(projectId: number, from: number, harness: string | undefined): Statement {
  return { text: REJUDGE, values: [projectId, from, harness ?? null] };
}
