import { plainName } from "@plimsoll/fold";
import { arrayLiteral, binaryArray } from "../../db/tables/binary-arrays.ts";
import { OTHER } from "../../db/tables/rollup-names.ts";
import type { Statement } from "../../db/tables/table.ts";
import type { ProjectMemory } from "../memory/memory.ts";
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

/**
 * Every agent that may have used one of the models: its harness used it, within six hours of a time at which the agent was heard
 * from. Rollups know that without a look at the turns. On a day with too many names, any agent may have used it. So may one
 * whose harness is not in ASCII, as databases differ in its lower case. An agent that could not be folded gets another attempt.
 */
const USERS = `
JOIN sessions s ON s.project_id = $1 AND s.id = a.session_id
WHERE a.project_id = $1 AND a.turns > 0
AND ($3::text IS NULL OR lower(split_part(s.harness, '@', 1)) = $3 OR s.harness ~ '[^ -~]') AND (
  EXISTS (
    SELECT 1 FROM rollups r WHERE r.project_id = $1 AND r.grain = 360 AND r.harness = s.harness
      AND r.model = ANY($2::text[]) AND r.bucket <= a.last_at AND r.bucket > a.first_at - interval '6 hours')
  OR EXISTS (
    SELECT 1 FROM rollup_names n WHERE n.project_id = $1 AND n.harness = '${OTHER}' AND n.model = '${OTHER}'
      AND n.day <= a.last_at AND n.day > a.first_at - interval '1 day'))
ON CONFLICT (project_id, agent_id) DO UPDATE SET reason = EXCLUDED.reason, done_to = NULL
  WHERE refolds.reason = 'failed' OR refolds.done_to IS NOT NULL`;

const REFOLD_USERS = `
INSERT INTO refolds (project_id, agent_id, reason) SELECT $1::int4, a.id, 'window_size' FROM agents a ${USERS}`;
const REFOLD_USERS_AT = `
INSERT INTO refolds (project_id, agent_id, reason, asked_at)
SELECT $1::int4, a.id, 'window_size', to_timestamp($4::float8 / 1000) FROM agents a ${USERS}`;

/**
 * Queues a new fold of the agents that may have used models whose windows have another size now.
 * @param family of harnesses; undefined for all
 * @param now epoch ms; undefined for the time of the database
 */
export function refoldUsers(
  { projectId, modelsKnown }: Pick<ProjectMemory, "projectId" | "modelsKnown">,
  { family, models, now }: { family: string | undefined; models: readonly string[]; now: number | undefined },
): Statement {
  const resized = new Set(models.map(plainName));
  const names = [...modelsKnown].map(([name]) => name).filter((name) => resized.has(plainName(name)));
  const values = [projectId, arrayLiteral(names), family ?? null];
  return now === undefined
    ? { text: REFOLD_USERS, values }
    : { text: REFOLD_USERS_AT, values: [...values, now] };
}
