import type { Sql } from "../db/sql.ts";
import type { RejectedSample } from "./conditions/rejected-events.ts";

/** What one evaluator of a project leaves to the next. */
export interface Watch {
  /** Since when the project has been watched without a gap. Epoch ms by the database's clock. */
  watchingSince: number;
  /** What the last holder counted; see rejected-events.ts. */
  samples: readonly RejectedSample[];
}

const BEGIN =
  "UPDATE alert_evaluators SET watching_since = to_timestamp($2::float8 / 1000) WHERE project_id = $1";
const READ = `
SELECT (extract(epoch FROM watching_since) * 1000)::float8 AS "watchingSince", samples
FROM alert_evaluators WHERE project_id = $1`;

/** Reads it; after a gap, the watch begins at `since`. Undefined if the project is gone. */
export async function readWatch(
  sql: Pick<Sql, "query">,
  projectId: number,
  since: number | undefined,
): Promise<Watch | undefined> {
  if (since !== undefined) await sql.query(BEGIN, projectId, since);
  const [row] = await sql.query<Watch>(READ, projectId);
  return row;
}
