import type { IngestRefusals } from "@plimsoll/protocol/api";
import { KEPT_REFUSALS } from "../db/tables/ingest-refusals.ts";
import type { Reader } from "../lines/reader.ts";

/** What is wrong with refused events, the most recent fault first. */
export async function readRefusals({ prisma, projectId }: Reader): Promise<IngestRefusals> {
  const rows = await prisma.ingestRefusal.findMany({
    where: { projectId },
    orderBy: [{ lastAt: "desc" }, { harness: "asc" }, { type: "asc" }, { code: "asc" }, { path: "asc" }],
    take: KEPT_REFUSALS,
  });
  return {
    refusals: rows.map(({ harness, type, code, path, message, example, count, firstAt, lastAt }) => ({
      harness: harness || null,
      type: type || null,
      code,
      path,
      message,
      example,
      count: Number(count),
      first_at: firstAt.toISOString(),
      last_at: lastAt.toISOString(),
    })),
  };
}
