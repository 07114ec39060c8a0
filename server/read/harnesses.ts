import type { HarnessList, HarnessView } from "@plimsoll/protocol/api";
import type { FreshReader } from "../lines/reader.ts";
import { iso } from "../times.ts";

/** Instances in one answer, and the characters of all their names and capabilities. */
const MOST_HARNESSES = 500;
const MOST_TEXT = 500_000;

/** The harness instances heard from last, the latest first. */
export async function readHarnesses({ prisma, projectId }: FreshReader): Promise<HarnessList> {
  const [rows, total] = await Promise.all([
    prisma.harness.findMany({
      where: { projectId, deletedAt: null },
      orderBy: [{ lastReceivedAt: "desc" }, { id: "asc" }],
      take: MOST_HARNESSES,
    }),
    prisma.harness.count({ where: { projectId, deletedAt: null } }),
  ]);
  let left = MOST_TEXT;
  const harnesses = rows
    .map(
      (row): HarnessView => ({
        instance: row.instance,
        name: row.name,
        version: row.version,
        status: row.status as HarnessView["status"],
        capabilities: row.capabilities,
        first_at: iso(row.firstAt),
        last_at: iso(row.lastAt),
        person: row.personId,
      }),
    )
    .filter((view) => {
      left -= JSON.stringify(view).length;
      return left >= 0;
    });
  return { harnesses, more: Math.max(0, total - harnesses.length) };
}
