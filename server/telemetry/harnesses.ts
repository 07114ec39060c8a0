import type { HarnessView } from "@plimsoll/protocol";
import { type FreshReader, iso } from "./reader.ts";

/** Every harness instance ever heard from, the latest first; at most 500. */
export async function readHarnesses({
  prisma,
  projectId,
}: FreshReader): Promise<{ harnesses: HarnessView[] }> {
  const rows = await prisma.harness.findMany({
    where: { projectId },
    orderBy: [{ lastReceivedAt: "desc" }, { id: "asc" }],
    take: 500,
  });
  return {
    harnesses: rows.map((row) => ({
      instance: row.instance,
      name: row.name,
      version: row.version,
      status: row.status as HarnessView["status"],
      capabilities: row.capabilities,
      first_at: iso(row.firstAt),
      last_at: iso(row.lastAt),
    })),
  };
}
