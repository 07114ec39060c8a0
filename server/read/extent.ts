import type { Extent, ExtentQuery } from "@plimsoll/protocol/api";
import { ALL, GRAINS } from "../db/tables/buckets.ts";
import type { Reader } from "../lines/reader.ts";
import { iso } from "../times.ts";

const [SHORTEST] = GRAINS;

/** When the recorded history begins, of all harnesses or of one: look-ups in the indexes of the shortest buckets. */
export async function readExtent({ prisma, projectId }: Reader, query: ExtentQuery): Promise<Extent> {
  const harness = query.harness ?? ALL;
  const [row] = await prisma.$queryRaw<{ first: Date | null }[]>`
    SELECT LEAST(
      (SELECT min(bucket) FROM rollups
       WHERE project_id = ${projectId} AND grain = ${SHORTEST} AND harness = ${harness}),
      (SELECT min(p.bucket + p.minutes[1] * interval '1 minute') FROM packed_minutes p
       WHERE p.project_id = ${projectId} AND p.harness = ${harness} AND p.bucket = (
         SELECT min(bucket) FROM packed_minutes WHERE project_id = ${projectId} AND harness = ${harness})),
      (SELECT min(bucket) FROM boundary_rollups
       WHERE project_id = ${projectId} AND grain = ${SHORTEST} AND harness = ${harness})) AS first`;
  return { first_at: row?.first == null ? null : iso(row.first) };
}
