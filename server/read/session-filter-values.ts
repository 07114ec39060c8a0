import type { SessionFilterValues, SessionValuesQuery } from "@plimsoll/protocol/api";
import { Prisma } from "../db/client.ts";
import type { Reader } from "../lines/reader.ts";

/** Values in one list. */
const MOST = 200;

/** The values that sessions of the project can be filtered by. */
export async function readFilterValues(
  { prisma, projectId }: Reader,
  { repository }: SessionValuesQuery = {},
): Promise<SessionFilterValues> {
  const [tags, models, machines, repositories, branches] = await Promise.all([
    prisma.$queryRaw<SessionFilterValues["tags"]>`
      SELECT tag, count(*)::int4 AS sessions FROM session_tags WHERE project_id = ${projectId}
      GROUP BY tag ORDER BY count(*) DESC, tag LIMIT ${MOST}`,
    prisma.model.findMany({
      where: { projectId },
      orderBy: [{ addedAt: "desc" }, { id: "desc" }],
      select: { name: true },
      take: MOST,
    }),
    prisma.machine.findMany({
      where: { projectId },
      orderBy: [{ lastReceivedAt: "desc" }, { name: "asc" }],
      select: { name: true },
      take: MOST,
    }),
    prisma.$queryRaw<
      { value: string }[]
    >`${distinctValues(projectId, Prisma.sql`repository`, Prisma.sql`s.repository IS NOT NULL`)}`,
    repository === undefined
      ? []
      : prisma.$queryRaw<{ value: string }[]>`
          ${distinctValues(projectId, Prisma.sql`branch`, Prisma.sql`s.repository = ${repository}`)}`,
  ]);
  return {
    tags,
    models: models.map(({ name }) => name),
    machines: machines.map(({ name }) => name),
    repositories: repositories.map(({ value }) => value),
    branches: branches.map(({ value }) => value),
  };
}

/** The first values of a column, each found by one step in the index of repositories and branches, whatever the number of sessions. */
function distinctValues(projectId: number, column: Prisma.Sql, where: Prisma.Sql): Prisma.Sql {
  const sessions = Prisma.sql`FROM sessions s WHERE s.project_id = ${projectId} AND ${where}`;
  return Prisma.sql`
    WITH RECURSIVE found (value, place) AS (
      (SELECT s.${column}, 1 ${sessions} AND s.${column} IS NOT NULL ORDER BY s.${column} LIMIT 1)
      UNION ALL
      SELECT (SELECT s.${column} ${sessions} AND s.${column} > f.value ORDER BY s.${column} LIMIT 1), f.place + 1
      FROM found f WHERE f.value IS NOT NULL AND f.place < ${MOST}
    ) SELECT value FROM found WHERE value IS NOT NULL ORDER BY value`;
}
