import type { AlertNotification } from "@plimsoll/protocol/alerts";
import type { Sql } from "../../db/sql.ts";
import { arrayLiteral } from "../../db/tables/binary-arrays.ts";
import { titleOf } from "../formats/words.ts";

const ENQUEUE = `
INSERT INTO alert_deliveries
  (project_id, endpoint_id, id, group_key, kind, title, body, state, created_at, since, next_at, finished_at)
SELECT e.project_id, e.id, $3::text, $4::text, $5::text, $6::text, $7::jsonb,
  CASE WHEN e.pause_reason IS NULL THEN 'waiting' ELSE 'skipped' END, t.now, t.now,
  CASE WHEN e.pause_reason IS NULL THEN t.now END, CASE WHEN e.pause_reason IS NULL THEN NULL ELSE t.now END
FROM alert_endpoints e, (SELECT clock_timestamp() AS now) t
WHERE e.project_id = $1 AND e.id = ANY($2::uuid[])
ON CONFLICT DO NOTHING`;

/** Writes one delivery for each endpoint, in the caller's transaction. Endpoints that do not exist are skipped. */
export async function enqueueDeliveries(
  sql: Pick<Sql, "execute">,
  projectId: number,
  endpointIds: readonly string[],
  notification: AlertNotification,
): Promise<void> {
  if (endpointIds.length === 0) return;
  const { id, group, kind } = notification;
  const body = JSON.stringify(notification);
  await sql.execute(
    ENQUEUE,
    projectId,
    arrayLiteral(endpointIds),
    id,
    group,
    kind,
    titleOf(notification),
    body,
  );
}

const OTHER = `
SELECT e.id, (SELECT name FROM alert_endpoints WHERE project_id = $1 AND id = $2::uuid) AS refused
FROM alert_endpoints e
WHERE e.project_id = $1 AND e.id <> $2::uuid AND e.pause_reason IS NULL AND e.failing_since IS NULL
  AND NOT EXISTS (
    SELECT 1 FROM alert_deliveries d WHERE d.project_id = $1 AND d.id = $3 AND d.endpoint_id <> $2::uuid AND d.state <> 'failed')
  AND NOT EXISTS (
    SELECT 1 FROM alert_deliveries d WHERE d.project_id = $1 AND d.id = $3 AND d.endpoint_id = e.id)
ORDER BY e.created_at, e.id LIMIT 1`;

/**
 * Sends a notification that its receiver never takes through another endpoint, unless another one has it already. The message says
 * why it comes there.
 */
export async function rerouteDelivery(
  sql: Pick<Sql, "query" | "execute">,
  projectId: number,
  endpointId: string,
  notification: AlertNotification,
): Promise<void> {
  const [other] = await sql.query<{ id: string; refused: string }>(
    OTHER,
    projectId,
    endpointId,
    notification.id,
  );
  if (other === undefined) return;
  const why = `The endpoint ${other.refused} does not take this message, so it comes here.`;
  const message = [notification.message, why].filter((line) => line !== null).join("\n");
  await enqueueDeliveries(sql, projectId, [other.id], { ...notification, message });
}
