import type { ModelWindowList, ModelWindowView } from "@plimsoll/protocol/api";
import type { Reader } from "../lines/reader.ts";
import { iso } from "../times.ts";

/** Sizes in one answer. */
const MOST_WINDOWS = 500;
/** Models without a size in one answer. */
const MOST_UNKNOWN = 50;

/** The sizes people set, models in use whose size nobody knows, and how many agents are to be recomputed. */
export async function readModelWindows({ prisma, projectId }: Reader): Promise<ModelWindowList> {
  const [rows, total, [unknown], recomputing] = await Promise.all([
    prisma.modelWindow.findMany({ where: { projectId }, orderBy: { model: "asc" }, take: MOST_WINDOWS }),
    prisma.modelWindow.count({ where: { projectId } }),
    prisma.$queryRaw<{ names: string[]; total: number }[]>`
      WITH models AS MATERIALIZED (
        SELECT DISTINCT a.model FROM agents a
        WHERE a.project_id = ${projectId} AND a.window_source = 0 AND a.turns > 0 AND a.model IS NOT NULL)
      SELECT ARRAY(SELECT model FROM models ORDER BY model LIMIT ${MOST_UNKNOWN}) AS names,
        (SELECT count(*) FROM models)::int4 AS total`,
    // Agents set aside after an error are not waiting.
    prisma.refold.count({ where: { projectId, reason: { not: "failed" } } }),
  ]);
  const { names, total: totalUnknown } = unknown!;
  return {
    windows: rows.map((row) => ({ model: row.model, tokens: row.tokens, updated_at: iso(row.updatedAt) })),
    more_windows: Math.max(0, total - rows.length),
    unknown: names,
    more_unknown: totalUnknown - names.length,
    recomputing,
  };
}

/** The size set for one model; undefined if there is none. */
export async function findModelWindow(
  { prisma, projectId }: Reader,
  model: string,
): Promise<ModelWindowView | undefined> {
  const row = await prisma.modelWindow.findUnique({ where: { projectId_model: { projectId, model } } });
  return row === null ? undefined : { model: row.model, tokens: row.tokens, updated_at: iso(row.updatedAt) };
}
