import type { ModelWindowView } from "@plimsoll/protocol";
import { iso, type Reader } from "./reader.ts";

/** The sizes people set, models in use whose size nobody knows, and how many agents are to be recomputed. */
export async function readModelWindows({
  prisma,
  projectId,
}: Reader): Promise<{ windows: ModelWindowView[]; unknown: string[]; recomputing: number }> {
  const [rows, unknown, recomputing] = await Promise.all([
    prisma.modelWindow.findMany({ where: { projectId }, orderBy: { model: "asc" } }),
    prisma.agent.findMany({
      where: { projectId, windowSource: 0, turns: { gt: 0 }, model: { not: null } },
      distinct: ["model"],
      select: { model: true },
      orderBy: { model: "asc" },
      take: 50,
    }),
    // Agents set aside after an error are not waiting.
    prisma.refold.count({ where: { projectId, reason: { not: "failed" } } }),
  ]);
  return {
    windows: rows.map((row) => ({ model: row.model, tokens: row.tokens, updated_at: iso(row.updatedAt) })),
    unknown: unknown.flatMap(({ model }) => (model === null ? [] : [model])),
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
