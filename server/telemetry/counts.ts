import type { IngestCounts } from "@plimsoll/protocol";
import { type FreshReader, spanOf } from "./reader.ts";

const DAY_MS = 86_400_000;

/** What ingestion did with events, by outcome, over the days a range touches. */
export async function readCounts(
  reader: FreshReader,
  range: { from: string; to: string },
): Promise<IngestCounts> {
  const { from, to } = spanOf(range);
  const rows = await reader.prisma.ingestCount.groupBy({
    by: ["outcome"],
    where: {
      projectId: reader.projectId,
      day: { gte: dayOf(from), lte: dayOf(to - 1) },
    },
    _sum: { count: true },
    orderBy: { outcome: "asc" },
  });
  return { counts: rows.map((row) => ({ outcome: row.outcome, count: Number(row._sum.count ?? 0) })) };
}

/** The beginning of the day, UTC, that an instant (epoch ms) falls in. */
function dayOf(at: number): Date {
  return new Date(Math.floor(at / DAY_MS) * DAY_MS);
}
