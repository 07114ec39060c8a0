import { setTimeout as sleep } from "node:timers/promises";
import type { PrismaClient } from "../../db/client.ts";
import { DAY_MS } from "../../times.ts";

/** For how long entries are kept. */
export const KEPT_DAYS = 400;
/** Entries kept at most. */
export const KEPT_ENTRIES = 100_000;
/** Rows deleted by one statement. */
const BATCH = 1_000;
const PAUSE_MS = 50;

/**
 * Deletes entries that are too old, and the oldest beyond the limit. The largest group of actor and project is trimmed
 * first: who floods the log pushes out their own entries, not what others did.
 * @param now epoch milliseconds
 * @returns the number of deleted entries
 */
export async function trimEntries(
  prisma: Pick<PrismaClient, "$executeRaw" | "$queryRaw">,
  now: number,
  { signal, most = KEPT_ENTRIES }: { signal?: AbortSignal; most?: number } = {},
): Promise<number> {
  const oldest = new Date(now - KEPT_DAYS * DAY_MS);
  let deleted = 0;
  while (!signal?.aborted) {
    let rows = await prisma.$executeRaw`
      DELETE FROM audit_entries WHERE id IN (
        SELECT id FROM audit_entries WHERE at < ${oldest} ORDER BY at, id LIMIT ${BATCH})`;
    if (rows === 0) rows = await trimLargest(prisma, most);
    if (rows === 0) break;
    deleted += rows;
    await sleep(PAUSE_MS);
  }
  return deleted;
}

async function trimLargest(
  prisma: Pick<PrismaClient, "$executeRaw" | "$queryRaw">,
  most: number,
): Promise<number> {
  const [counted] = await prisma.$queryRaw<{ count: number }[]>`
    SELECT count(*)::int4 AS count FROM audit_entries`;
  const excess = (counted?.count ?? 0) - most;
  if (excess <= 0) return 0;
  return prisma.$executeRaw`
    WITH largest AS (
      SELECT actor, project FROM audit_entries GROUP BY actor, project
      ORDER BY count(*) DESC, actor, project LIMIT 1
    )
    DELETE FROM audit_entries WHERE id IN (
      SELECT e.id FROM audit_entries e JOIN largest l ON e.actor = l.actor AND e.project IS NOT DISTINCT FROM l.project
      ORDER BY e.at, e.id LIMIT ${Math.min(excess, BATCH)})`;
}
