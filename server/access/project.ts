import type { PrismaClient } from "../db/index.ts";

/** The one project of a server that has no others yet. */
export const DEFAULT_PROJECT = 1;

/** Makes sure that project 1 exists. Several processes may do so at once. */
export async function ensureDefaultProject(prisma: PrismaClient): Promise<typeof DEFAULT_PROJECT> {
  // The sequence is moved along too, so that the first project made later gets another id.
  await prisma.$executeRaw`
    WITH made AS (
      INSERT INTO projects (id, name, created_at) VALUES (${DEFAULT_PROJECT}, 'default', now())
      ON CONFLICT DO NOTHING RETURNING id
    )
    SELECT setval(pg_get_serial_sequence('projects', 'id'), id) FROM made`;
  return DEFAULT_PROJECT;
}
