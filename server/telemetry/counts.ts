import type { IngestCounts } from "@plimsoll/protocol";
import { type Reader, spanOf } from "./reader.ts";

/** What ingestion did with events, by outcome, over the days a range touches. */
export async function readCounts(reader: Reader, range: { from: string; to: string }): Promise<IngestCounts> {
  const { from, to } = spanOf(range);
  const rows = await reader.prisma.ingestCount.groupBy({
    by: ["outcome"],
    where: {
      projectId: reader.projectId,
      day: { gte: new Date(new Date(from).toISOString().slice(0, 10)), lte: new Date(to) },
    },
    _sum: { count: true },
    orderBy: { outcome: "asc" },
  });
  return { counts: rows.map((row) => ({ outcome: row.outcome, count: Number(row._sum.count ?? 0) })) };
}
