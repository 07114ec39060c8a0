import type { Extent } from "@plimsoll/protocol/api";
import { ALL, GRAINS } from "../db/tables/buckets.ts";
import type { Reader } from "../lines/reader.ts";
import { iso } from "../times.ts";

const LONGEST = GRAINS.at(-1)!;

/** When the recorded history begins: one look-up in the index of the longest buckets. */
export async function readExtent({ prisma, projectId }: Reader): Promise<Extent> {
  const [row] = await prisma.$queryRaw<{ first: Date | null }[]>`
    SELECT LEAST(
      (SELECT min(bucket) FROM rollups WHERE project_id = ${projectId} AND grain = ${LONGEST} AND harness = ${ALL}),
      (SELECT min(bucket) FROM boundary_rollups
       WHERE project_id = ${projectId} AND grain = ${LONGEST} AND harness = ${ALL})) AS first`;
  return { first_at: row?.first == null ? null : iso(row.first) };
}
