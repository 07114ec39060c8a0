import type { Sql } from "../../db/sql.ts";
import { DAY_MS } from "../../times.ts";

/** Days for which ended alerts and silences are kept. */
const KEPT_MS = 90 * DAY_MS;
/** Rows of one step. */
const TRIMMED = 1_000;

const time = (parameter: string) => `to_timestamp(${parameter}::float8 / 1000)`;
const TRIM_ALERTS = `
DELETE FROM alerts WHERE project_id = $1 AND id IN (
  SELECT id FROM alerts WHERE project_id = $1 AND fired_at < ${time("$2")} AND resolved_at < ${time("$2")}
  ORDER BY fired_at LIMIT ${TRIMMED})`;
const TRIM_SILENCES = `DELETE FROM alert_silences WHERE project_id = $1 AND ends_at < ${time("$2")}`;

/** Deletes the history of long ago. `now` in epoch ms. */
export async function trimAlerts(sql: Pick<Sql, "query">, projectId: number, now: number): Promise<void> {
  await sql.query(TRIM_ALERTS, projectId, now - KEPT_MS);
  await sql.query(TRIM_SILENCES, projectId, now - KEPT_MS);
}
