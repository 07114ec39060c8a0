import type { IngestCounts } from "@plimsoll/protocol/api";
import { readContestedLeases } from "../db/lease.ts";
import { queriesOf } from "../db/sql.ts";
import { GRAINS } from "../db/tables/buckets.ts";
import { dayOf, NAMES_PER_DAY, OTHER } from "../db/tables/rollup-names.ts";
import type { FreshReader } from "../lines/reader.ts";
import { DAY_MS, spanOf } from "../times.ts";

/** What ingestion did with events, by outcome, over the days a range touches. */
export async function readCounts(
  reader: FreshReader,
  range: { from: string; to: string },
): Promise<IngestCounts> {
  const { from, to } = spanOf(range);
  const { prisma, projectId } = reader;
  const days = { gte: new Date(dayOf(from)), lt: new Date(dayOf(to - 1) + DAY_MS) };
  // Every day consists of whole buckets of the longest grain.
  const overLimit = { projectId, grain: GRAINS.at(-1)!, harness: OTHER, bucket: days };
  const [rows, turns, boundaries, contested] = await Promise.all([
    prisma.ingestCount.groupBy({
      by: ["outcome"],
      where: { projectId, day: days },
      _sum: { count: true },
      orderBy: { outcome: "asc" },
    }),
    prisma.rollup.aggregate({ where: overLimit, _sum: { turns: true } }),
    prisma.boundaryRollup.aggregate({ where: overLimit, _sum: { count: true } }),
    readContestedLeases(queriesOf(reader), projectId),
  ]);
  return {
    counts: rows.map((row) => ({ outcome: row.outcome, count: Number(row._sum.count ?? 0) })),
    names: {
      limit: NAMES_PER_DAY,
      turns_over_limit: turns._sum.turns ?? 0,
      boundaries_over_limit: boundaries._sum.count ?? 0,
    },
    contested: contested.map(({ work, agoMs }) => ({ work, ago_ms: Math.round(agoMs) })),
  };
}
