import type { AlertNotification } from "@plimsoll/protocol";
import type { Sql } from "../../db/sql.ts";

const OUTBOX_EXISTS = "SELECT to_regclass('alert_deliveries') IS NOT NULL AS exists";
const ENQUEUE = `
INSERT INTO alert_deliveries (project_id, endpoint_id, id, group_key, body)
SELECT $1::int4, endpoint_id, $3::text, $4::text, $5::jsonb FROM unnest($2::uuid[]) AS t (endpoint_id)
ON CONFLICT DO NOTHING`;

/** Writes one delivery for each endpoint, in the caller's transaction. Endpoints that do not exist are skipped. */
export async function enqueueDeliveries(
  sql: Sql,
  projectId: number,
  endpointIds: readonly string[],
  notification: AlertNotification,
): Promise<void> {
  if (endpointIds.length === 0) return;
  const [outbox] = await sql.query<{ exists: boolean }>(OUTBOX_EXISTS);
  if (!outbox?.exists) return;
  const { id, group } = notification;
  await sql.execute(ENQUEUE, projectId, endpointIds, id, group, JSON.stringify(notification));
}
