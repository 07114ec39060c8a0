import { binaryArray } from "../../db/tables/binary-arrays.ts";
import type { Statement } from "../../db/tables/table.ts";
import type { DeferredRefold } from "./plan-chunk.ts";

/**
 * Queues a new fold of every agent with events at or after a time, because its thresholds changed then. Retries agents that could
 * not be folded.
 */
const REJUDGE = `
INSERT INTO refolds (project_id, agent_id, reason)
SELECT $1::int4, a.id, 'policy' FROM sessions s JOIN agents a ON a.project_id = $1 AND a.session_id = s.id
WHERE s.project_id = $1 AND s.last_at >= to_timestamp($2::float8 / 1000) AND ($3::text IS NULL OR s.harness = $3)
  AND a.last_at >= to_timestamp($2::float8 / 1000)
ON CONFLICT (project_id, agent_id) DO UPDATE SET reason = EXCLUDED.reason, done_to = NULL
  WHERE refolds.reason = 'failed' OR refolds.done_to IS NOT NULL`;

/**
 * @param from epoch ms
 * @param harness undefined for all harnesses
 */
export function rejudge(projectId: number, from: number, harness: string | undefined): Statement {
  return { text: REJUDGE, values: [projectId, from, harness ?? null] };
}

/** Leaves the rest of a long history to upkeep. A refold that waits goes on from the earlier of both cuts. */
const DEFER = `
INSERT INTO refolds (project_id, agent_id, reason, done_to)
SELECT $1::int4, i.agent_id, 'late_event', to_timestamp(i.done_to / 1000)
FROM unnest($2::uuid[], $3::float8[]) AS i(agent_id, done_to)
ON CONFLICT (project_id, agent_id) DO UPDATE SET
  reason = CASE refolds.reason WHEN 'failed' THEN EXCLUDED.reason ELSE refolds.reason END,
  done_to = CASE refolds.reason WHEN 'failed' THEN NULL ELSE LEAST(refolds.done_to, EXCLUDED.done_to) END
  WHERE refolds.reason = 'failed' OR refolds.done_to IS NOT NULL`;

export function deferRefolds(projectId: number, refolds: readonly DeferredRefold[]): Statement {
  const ids = binaryArray("uuid", "agentId", refolds, ({ agentId }) => agentId);
  const times = binaryArray("float8", "doneTo", refolds, ({ doneTo }) => doneTo);
  return { text: DEFER, values: [projectId, ids, times] };
}
