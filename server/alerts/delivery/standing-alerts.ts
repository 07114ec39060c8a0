import { type AlertFacts, type AlertNotification, isFiring } from "@plimsoll/protocol/alerts";
import type { Writers } from "../../db/sql.ts";
import { iso } from "../../times.ts";
import { type AlertGroupRow, type OpenAlert, readOpenAlerts } from "../alert-rows.ts";
import { alertFacts } from "../evaluation/decide-groups.ts";
import type { EndpointKey } from "./delivery-rows.ts";

/** Alerts of one request. */
const AT_ONCE = 200;

/** Alertmanager forgets what it was told when it restarts, and ends what nobody repeats. */
const ALERTMANAGERS = `
SELECT e.project_id AS "projectId", e.id AS "endpointId" FROM alert_endpoints e JOIN projects p ON p.id = e.project_id
WHERE p.deleting_at IS NULL AND e.kind = 'alertmanager' AND e.pause_reason IS NULL AND e.key_id = $1`;

export const readAlertmanagers = (sql: Pick<Writers, "query">, keyId: string): Promise<EndpointKey[]> =>
  sql.query<EndpointKey>(ALERTMANAGERS, keyId);

/** The alerts that fire and that an endpoint was told of. */
export function standingAlerts(
  { alerts, groups }: { alerts: readonly OpenAlert[]; groups: readonly AlertGroupRow[] },
  endpointId: string,
): AlertFacts[] {
  const told = new Set(
    groups
      .filter(({ receivers }) => receivers.told.includes(endpointId))
      .flatMap(({ memory }) => Object.keys(memory.told)),
  );
  return alerts
    .filter(({ id, state, facts }) => told.has(id) && isFiring(state) && facts !== undefined)
    .map(alertFacts);
}

/** Notifications that say again what an endpoint was told. @param now epoch ms */
export async function readStanding(
  sql: Pick<Writers, "query">,
  { projectId, endpointId }: EndpointKey,
  projectName: string,
  now: number,
): Promise<AlertNotification[]> {
  const standing = standingAlerts(await readOpenAlerts(sql, projectId), endpointId);
  return Array.from({ length: Math.ceil(standing.length / AT_ONCE) }, (_, part) => ({
    id: `standing-${part}`,
    kind: "repeated",
    project: { id: projectId, name: projectName },
    group: "standing",
    message: null,
    alerts: standing.slice(part * AT_ONCE, (part + 1) * AT_ONCE),
    omitted: 0,
    at: iso(now),
  }));
}
