import { DEFAULT_PROJECT_ID } from "@plimsoll/protocol/api";
import type { PrismaClient } from "../../db/index.ts";

/** Creates the default project if it is missing. Several processes may call this at the same time. */
export async function ensureDefaultProject(prisma: PrismaClient): Promise<void> {
  // Advance the sequence too, so that the next project gets another id.
  await prisma.$executeRaw`
    WITH made AS (
      INSERT INTO projects (id, name, created_at) VALUES (${DEFAULT_PROJECT_ID}, 'default', now())
      ON CONFLICT DO NOTHING RETURNING id
    )
    SELECT setval(pg_get_serial_sequence('projects', 'id'), id) FROM made`;
}
