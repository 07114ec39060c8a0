import type { PrismaClient } from "../../db/index.ts";

/** In a group of fewer people, a name on a session shows everybody what one of them does. */
export const SMALL_GROUP = 5;

export interface KnownPerson {
  id: string;
  name: string;
  /** Has a role in the project. */
  belongs: boolean;
}

/**
 * The people whose names somebody may see, by their ids.
 * @param hides the project hides names while it is small
 * @param viewer who looks, if a person
 */
export function shownNames(
  people: readonly KnownPerson[],
  hides: boolean,
  viewer: string | undefined,
): ReadonlyMap<string, string> {
  const isSmall = people.filter(({ belongs }) => belongs).length < SMALL_GROUP;
  const shown = people.filter(({ id }) => !hides || !isSmall || id === viewer);
  return new Map(shown.map(({ id, name }) => [id, name]));
}

/** As `shownNames`, of the people of this server. */
export async function readShownNames(
  prisma: PrismaClient,
  projectId: number,
  viewer: string | undefined,
): Promise<ReadonlyMap<string, string>> {
  const [project, rows] = await Promise.all([
    prisma.project.findUnique({ where: { id: projectId }, select: { hidesNames: true } }),
    prisma.person.findMany({
      select: { id: true, name: true, everywhere: true, roles: { where: { project: projectId } } },
    }),
  ]);
  const people = rows.map(({ id, name, everywhere, roles }) => ({
    ...{ id, name },
    belongs: everywhere !== null || roles.length > 0,
  }));
  return shownNames(people, project?.hidesNames ?? false, viewer);
}
