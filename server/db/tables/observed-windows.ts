import { type ObservedModel, ObservedWindows } from "@plimsoll/fold";
import type { Sql } from "../sql.ts";
import { defineTable } from "./table.ts";

/** Window sizes that the harnesses of a family reported for a model. */
export const observedWindows = defineTable("observed_windows", ["harness", "model"], {
  /** The family of the harnesses. */
  harness: "text",
  /** As it was first sent. */
  model: "text",
  /** `ObservedSize[]`. */
  sizes: "json",
  asked: "bool",
});

/** Reads what a project has learned. */
export async function readObservedWindows(
  sql: Pick<Sql, "query">,
  projectId: number,
): Promise<ObservedWindows> {
  const rows = await sql.query<Record<string, unknown>>(
    `SELECT ${observedWindows.select("t")} FROM observed_windows t WHERE t.project_id = $1 ORDER BY harness, model`,
    projectId,
  );
  return new ObservedWindows(rows.map((row) => observedWindows.parse(row) as ObservedModel));
}
