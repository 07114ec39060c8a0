import type { PrismaClient } from "../db/client.ts";

/**
 * Resolves when no agent waits to be folded again and no peak to be read again.
 * @param limit milliseconds
 */
export async function upkeepDone(prisma: PrismaClient, limit = 20_000): Promise<void> {
  for (const deadline = Date.now() + limit; ; ) {
    const left = (await prisma.refold.count()) + (await prisma.rollup.count({ where: { stale: true } }));
    if (left === 0) return;
    if (Date.now() > deadline) throw new Error(`${left} refolds and stale peaks are left`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
