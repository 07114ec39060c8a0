import type { SessionFilterValues } from "@plimsoll/protocol/api";
import type { Reader } from "../lines/reader.ts";

/** Values in one list. */
const MOST = 200;

/** The tags and models that sessions of the project can be filtered by. */
export async function readFilterValues({ prisma, projectId }: Reader): Promise<SessionFilterValues> {
  const [tags, models] = await Promise.all([
    prisma.$queryRaw<SessionFilterValues["tags"]>`
      SELECT tag, count(*)::int4 AS sessions FROM session_tags WHERE project_id = ${projectId}
      GROUP BY tag ORDER BY count(*) DESC, tag LIMIT ${MOST}`,
    prisma.model.findMany({
      where: { projectId },
      orderBy: [{ addedAt: "desc" }, { id: "desc" }],
      select: { name: true },
      take: MOST,
    }),
  ]);
  return { tags, models: models.map(({ name }) => name) };
}
