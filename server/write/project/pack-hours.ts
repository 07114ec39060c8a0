import { ALL, bucketOf } from "../../db/tables/buckets.ts";
import { mayBePacked, PACKED_AFTER, packMinutes } from "../../db/tables/packed-minutes.ts";
import type { HeldProject } from "./held-project.ts";

/** Whether minutes may be packed, once nothing old is written. Parameter: the project. */
export const HOURS_DUE = `EXISTS (SELECT 1 FROM rollups r WHERE r.project_id = $1 AND r.grain = 1 AND r.harness = '${ALL}'
  AND r.bucket < date_bin('1 hour', now(), 'epoch') - ${PACKED_AFTER} * interval '1 ms')`;

const OLDEST = `
SELECT (extract(epoch FROM min(r.bucket)) * 1000)::float8 AS minute FROM rollups r
WHERE r.project_id = $1 AND r.grain = 1 AND r.harness = '${ALL}'`;

/** Packs the minutes of the oldest hour that has some, once no peak is stale. Returns whether there was one. */
export async function packOldestHour(project: HeldProject): Promise<boolean> {
  const { projectId, memory } = project;
  if (project.now() < project.packsFrom) return false;
  const [oldest] = await project.query<{ minute: number | null }>(OLDEST, projectId);
  const minute = oldest?.minute ?? Number.POSITIVE_INFINITY;
  if (!mayBePacked(minute, project.now())) return false;
  const hour = bucketOf(minute, 60);
  await project.transaction(async (sql) => {
    for (const { text, values } of packMinutes(projectId, hour)) sql.send(text, ...values);
  });
  memory.packedTo = Math.max(memory.packedTo, hour);
  return true;
}
