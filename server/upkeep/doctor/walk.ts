import { randomUUID } from "node:crypto";

const LOWEST = "00000000-0000-0000-0000-000000000000";
const HIGHEST = "ffffffff-ffff-ffff-ffff-ffffffffffff";

/**
 * Reads the next rows of a walk over all ids from a random start: up to the highest id, then from the lowest to the
 * start. Ids are hashes, so however early the walk ends, its rows are a fair sample.
 */
export async function walkIds<Row extends { id: string }>(
  position: string | undefined,
  size: number,
  read: (after: string, through: string, limit: number) => Promise<Row[]>,
): Promise<{ rows: Row[]; next: string | undefined }> {
  let [start, after, wrapped] = position?.split("/") ?? [];
  if (start === undefined || after === undefined) {
    start = randomUUID();
    after = start;
  }
  const rows: Row[] = [];
  if (wrapped === undefined) {
    rows.push(...(await read(after, HIGHEST, size)));
    if (rows.length === size) return { rows, next: [start, rows.at(-1)!.id].join("/") };
    after = LOWEST;
    wrapped = "wrapped";
  }
  const limit = size - rows.length;
  const more = await read(after, start, limit);
  rows.push(...more);
  return { rows, next: more.length === limit ? [start, more.at(-1)!.id, wrapped].join("/") : undefined };
}

/**
 * The order in which buckets are examined: the newest first, then the rest scattered over time. It stays the same while
 * buckets are added. Epoch ms.
 */
export function nextBucket(
  position: string | undefined,
  buckets: readonly number[],
): { bucket: number; position: string } | undefined {
  if (buckets.length === 0) return undefined;
  if (position === undefined) {
    const newest = Math.max(...buckets);
    return { bucket: newest, position: `${newest}/-1` };
  }
  const [newest, after] = position.split("/").map(Number) as [number, number];
  let best: { bucket: number; rank: number } | undefined;
  for (const bucket of buckets) {
    const rank = scatter(bucket);
    if (bucket !== newest && rank > after && (best === undefined || rank < best.rank))
      best = { bucket, rank };
  }
  return best && { bucket: best.bucket, position: `${newest}/${best.rank}` };
}

/** A different number for each minute, in no order. */
function scatter(bucket: number): number {
  // An odd factor maps 32-bit numbers one to one.
  return Math.imul(Math.floor(bucket / 60_000), 0x9e3779b1) >>> 0;
}
