import type { WriterSql } from "../../db/sql.ts";
import { arrayLiteral } from "../../db/tables/binary-arrays.ts";
import type { Statement } from "../../db/tables/table.ts";
import { deleteAlerts, deleteGroups, upsertAlerts, upsertGroups } from "../alert-rows.ts";
import { enqueueDeliveries } from "../delivery/outbox.ts";
import type { Watch } from "../watch.ts";
import type { PlannedEvaluation } from "./evaluation.ts";

const DELETE_SIGNALS = "DELETE FROM alert_signals WHERE project_id = $1 AND id = ANY($2::uuid[])";
const DELETE_ALL_SIGNALS = "DELETE FROM alert_signals WHERE project_id = $1";
// A person who switches on a rule meanwhile raises the revision.
const SWITCH_OFF = "UPDATE projects SET alerting = false WHERE id = $1 AND alert_revision = $2";

const KEEP_SAMPLES = "UPDATE alert_evaluators SET samples = $2::jsonb WHERE project_id = $1";

/** Writes what an evaluation planned, with the deliveries that follow from it. `revision` is that of the project's rules. */
export async function writeEvaluation(
  sql: WriterSql,
  { projectId, samples }: { projectId: number } & Pick<Watch, "samples">,
  { alerts, groups, signals, finished }: PlannedEvaluation,
  revision: number,
): Promise<void> {
  sql.send(KEEP_SAMPLES, projectId, JSON.stringify(samples));
  const some = <Row>(rows: readonly Row[], statement: (id: number, rows: readonly Row[]) => Statement) => {
    if (rows.length === 0) return;
    const { text, values } = statement(projectId, rows);
    sql.send(text, ...values);
  };
  // Before the new ones: a subject has one open alert of a rule.
  some(alerts.removed, deleteAlerts);
  some(
    alerts.changed.filter(({ state }) => state.phase === "resolved"),
    upsertAlerts,
  );
  some(
    alerts.changed.filter(({ state }) => state.phase !== "resolved"),
    upsertAlerts,
  );
  some(groups.removed, deleteGroups);
  some(groups.changed, upsertGroups);
  for (const { endpoints, notification } of groups.outgoing)
    await enqueueDeliveries(sql, projectId, endpoints, notification);
  if (signals.length > 0) sql.send(DELETE_SIGNALS, projectId, arrayLiteral(signals));
  if (finished) {
    sql.send(DELETE_ALL_SIGNALS, projectId);
    sql.send(SWITCH_OFF, projectId, revision);
  }
}
