import { ADD_COUNT } from "./ingest-counts.ts";
import { defineTable, type Statement } from "./table.ts";

/**
 * What was removed and is still counted elsewhere. `ingest`: turns and marks that `ingest_counts` has. `rollups`: turns,
 * boundaries by type and reclaimed tokens that rollups have.
 */
const removedCounts = defineTable("removed_counts", ["countedIn", "what"], {
  countedIn: "text",
  what: "text",
  count: "int8",
});

export type CountedIn = "ingest" | "rollups";

/** Counts by what is counted, such as `turns` or `masked`. */
export type RemovedCounts = Readonly<Record<string, number>>;

/** Adds to what was removed. `sign`: -1 takes away what is not counted any more. */
export function addRemovedCounts(
  projectId: number,
  countedIn: CountedIn,
  counts: RemovedCounts,
  sign: 1 | -1 = 1,
): Statement | undefined {
  const rows = Object.entries(counts)
    .filter(([, count]) => count !== 0)
    .map(([what, count]) => ({ countedIn, what, count: sign * count }));
  return rows.length === 0 ? undefined : removedCounts.upsert(projectId, rows, ADD_COUNT);
}

/** $1 is the project, $2 where it is counted. */
export const READ_REMOVED_COUNTS = `
SELECT r.what, r.count::float8 AS count FROM removed_counts r WHERE r.project_id = $1 AND r.counted_in = $2`;
