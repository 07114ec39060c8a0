import type { AlertTimeline } from "@plimsoll/protocol/api";
import { queriesOf } from "../db/sql.ts";
import type { Reader } from "../lines/reader.ts";
import { iso } from "../times.ts";

const STEP_MS = 30 * 60_000;
const STEPS = 48;

const time = (parameter: string) => `to_timestamp(${parameter}::float8 / 1000)`;
const stepOf = (moment: string) =>
  `floor((extract(epoch FROM ${moment}) * 1000 - $2::float8) / ${STEP_MS})::int4`;

// An alert that is older than the range and still open begins in its first step.
const COUNTS = `
SELECT t.rule_id AS rule, step, count(*)::float8 AS count
FROM alerts t CROSS JOIN LATERAL generate_series(
  GREATEST(0, ${stepOf("t.fired_at")}),
  LEAST(${STEPS - 1}, COALESCE(${stepOf("t.resolved_at")}, ${STEPS - 1}))) step
WHERE t.project_id = $1 AND t.fired_at IS NOT NULL AND (t.resolved_at IS NULL OR t.resolved_at >= ${time("$2")})
GROUP BY t.rule_id, step`;

/** How many alerts of each rule fired in each half hour of the last 24 h. Rules that did not fire are missing. */
export async function readAlertTimeline(reader: Reader): Promise<AlertTimeline> {
  const from = Math.floor(reader.now / STEP_MS) * STEP_MS - (STEPS - 1) * STEP_MS;
  const rows = await queriesOf(reader).query<{ rule: string; step: number; count: number }>(
    COUNTS,
    reader.projectId,
    from,
  );
  const rules = new Map<string, number[]>();
  for (const { rule, step, count } of rows) {
    const firing = rules.get(rule) ?? new Array<number>(STEPS).fill(0);
    firing[step] = count;
    rules.set(rule, firing);
  }
  return {
    from: iso(from),
    step_ms: STEP_MS,
    rules: [...rules].map(([id, firing]) => ({ id, firing })),
  };
}
