import { ALL } from "../../db/tables/buckets.ts";
import { NAMES_PER_DAY, OTHER } from "../../db/tables/rollup-names.ts";
import { type Check, count, plural } from "./check.ts";

/** Days with more names than the limit allows. */
const fullDays = (ofNames: string) => `
SELECT n.day::text AS day, count(*)::float8 AS names FROM rollup_names n
WHERE n.project_id = $1 AND ${ofNames} AND n.harness <> '${OTHER}' GROUP BY 1 HAVING count(*) > $2::int8 ORDER BY 1 LIMIT 5`;

const COUNTED = "SELECT count(*)::float8 AS names FROM rollup_names n WHERE n.project_id = $1";

/** Rows of the longest buckets, the fewest that have every name. */
const UNKNOWN_PAIRS = `
SELECT DISTINCT r.bucket::text AS bucket, r.harness, r.model FROM rollups r
LEFT JOIN rollup_names n ON n.project_id = $1 AND n.day = date_trunc('day', r.bucket, 'UTC') AND n.harness = r.harness
  AND n.model = r.model
WHERE r.project_id = $1 AND r.grain = 360 AND r.harness <> '${ALL}' AND n.day IS NULL LIMIT 5`;
const UNKNOWN_HARNESSES = `
SELECT DISTINCT r.bucket::text AS bucket, r.harness FROM boundary_rollups r
LEFT JOIN rollup_names n ON n.project_id = $1 AND n.day = date_trunc('day', r.bucket, 'UTC') AND n.harness = r.harness
  AND n.model = '${ALL}'
WHERE r.project_id = $1 AND r.grain = 360 AND r.harness <> '${ALL}' AND n.day IS NULL LIMIT 5`;

const KINDS = [
  {
    kind: "pairs of harness and model",
    column: "rollups.harness",
    full: fullDays(`n.model <> '${ALL}'`),
    unknown: UNKNOWN_PAIRS,
  },
  {
    kind: "harnesses of boundaries",
    column: "boundary_rollups.harness",
    full: fullDays(`n.model = '${ALL}'`),
    unknown: UNKNOWN_HARNESSES,
  },
];

interface FullDay {
  day: string;
  names: number;
}

interface UnknownRow {
  bucket: string;
  harness: string;
  model?: string;
}

/** Compares the names in rollups with those that their days admit. */
export const namesCheck: Check = {
  name: "charts use the names of their days",
  units: undefined,
  weight: 1,
  size: 1,
  maxSize: 1,
  step({ connection, deadline, projectId }) {
    return connection.atOneMoment(deadline, async (sql) => {
      const faults: string[] = [];
      for (const { kind, column, full, unknown } of KINDS) {
        for (const { day, names } of await sql.query<FullDay>(full, projectId, NAMES_PER_DAY)) {
          faults.push(
            `${count(names)} ${kind} on ${day}, at most ${count(NAMES_PER_DAY)} (rollup_names.day)`,
          );
        }
        for (const { bucket, harness, model } of await sql.query<UnknownRow>(unknown, projectId)) {
          const name = model === undefined ? harness : `${harness} with ${model}`;
          faults.push(`${name} is no name of the day of ${bucket} (${column})`);
        }
      }
      const [counted] = await sql.query<{ names: number }>(COUNTED, projectId);
      const message = `${plural(counted!.names, "name")} of harnesses and models; every rollup has one of its day.`;
      return { examined: 0, faults, next: undefined, message };
    });
  },
};
