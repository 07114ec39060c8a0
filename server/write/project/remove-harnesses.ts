import { BOUNDARY_ORIGIN } from "../../db/tables/codes.ts";
import { addRemovedCounts } from "../../db/tables/removed-counts.ts";
import type { HeldProject } from "./held-project.ts";
import { REMOVE_AFTER_MS } from "./undo-time.ts";

/** Harness instances of one step. */
const STEP = 100;

const DUE = `
SELECT h.id FROM harnesses h WHERE h.project_id = $1 AND h.deleted_at <= now() - ${REMOVE_AFTER_MS} * interval '1 ms'
ORDER BY h.deleted_at, h.id LIMIT ${STEP}`;
const REMOVE = "DELETE FROM harnesses WHERE project_id = $1 AND id = ANY($2::uuid[])";
/** What a harness says of itself is stored under its own id. */
const REMOVE_MARKS = `
WITH gone AS (
  DELETE FROM boundaries b WHERE b.project_id = $1 AND b.agent_id = ANY($2::uuid[])
    AND b.origin = ${BOUNDARY_ORIGIN.reported} RETURNING 1
) SELECT count(*)::int4 AS count FROM gone`;

/** Removes deleted harness instances whose time for undo is over. Returns false if none is left. */
export async function removeDeletedHarnesses(project: HeldProject): Promise<boolean> {
  const { projectId } = project;
  if ((await project.query(DUE, projectId)).length === 0) return false;
  await project.transaction(async (sql) => {
    const ids = (await sql.query<{ id: string }>(`${DUE} FOR UPDATE`, projectId)).map(({ id }) => id);
    const [marks] = await sql.query<{ count: number }>(REMOVE_MARKS, projectId, ids);
    const counted = addRemovedCounts(projectId, "ingest", { marks: marks?.count ?? 0 });
    if (counted !== undefined) sql.send(counted.text, ...counted.values);
    sql.send(REMOVE, projectId, ids);
  });
  // The memory knows the harnesses, and what they acknowledged.
  project.forget();
  return true;
}
