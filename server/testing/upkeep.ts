import type { PrismaClient } from "../db/client.ts";
import { until } from "./until.ts";

/** Resolves when no agent waits to be folded again and no peak to be read again. */
export const upkeepDone = (prisma: PrismaClient): Promise<void> =>
  until(
    async () => (await prisma.refold.count()) + (await prisma.rollup.count({ where: { stale: true } })) === 0,
  );
