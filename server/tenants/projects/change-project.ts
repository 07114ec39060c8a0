import type { PrismaClient, Transaction } from "../../db/client.ts";
import { PlimsollError } from "../../errors.ts";

export interface SessionChangeOptions {
  prisma: PrismaClient;
  /** Epoch ms. */
  clock: () => number;
  /** Called after a change of these sessions of a project. */
  changed: (projectId: number, sessionIds: readonly string[]) => void;
}

/**
 * Runs a change alone in its project, so that limits hold also for calls at the same time.
 * @throws PlimsollError `not_found` for a project that is being deleted
 */
export function changeAlone<T>(
  prisma: PrismaClient,
  projectId: number,
  run: (tx: Transaction) => Promise<T>,
): Promise<T> {
  return prisma.$transaction(async (tx) => {
    const found = await tx.$queryRaw<unknown[]>`
      SELECT 1 FROM projects WHERE id = ${projectId} AND deleting_at IS NULL FOR NO KEY UPDATE`;
    if (found.length === 0) throw new PlimsollError("not_found", `There is no project ${projectId}.`);
    return run(tx);
  });
}
