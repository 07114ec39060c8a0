import { GRAINS } from "../../db/tables/buckets.ts";
import type { Check } from "./check.ts";
import { readBuckets, readRollups, rollupDifferences } from "./rollup-rows.ts";
import { nextBucket } from "./walk.ts";

/** Minutes of the longest bucket: the unit of this check. */
const LONGEST = GRAINS.at(-1)!;
const SPAN_MS = LONGEST * 60_000;

/** Compares quarters of an hour, hours and six hours with the sum of the shorter buckets in them. */
export const longerBucketsCheck: Check = {
  name: "minutes add up to longer buckets",
  units: { plural: "six-hour buckets", done: "added up" },
  weight: 1,
  size: 1,
  maxSize: 1,
  step({ connection, deadline, projectId }, position) {
    return connection.atOneMoment(deadline, async (sql) => {
      // An hour without its six hours, or the reverse, has to be found too.
      const starts = new Set<number>();
      for (const grain of GRAINS.slice(2)) {
        for (const bucket of await readBuckets(sql, projectId, grain)) {
          starts.add(Math.floor(bucket / SPAN_MS) * SPAN_MS);
        }
      }
      const buckets = [...starts];
      const current = nextBucket(position, buckets);
      if (current === undefined) return { examined: 0, faults: [], next: undefined, of: buckets.length };
      const from = current.bucket;
      const to = from + SPAN_MS;
      const faults: string[] = [];
      for (const [index, grain] of GRAINS.slice(1).entries()) {
        const stored = await readRollups(sql, projectId, { grain, from, to, width: grain });
        const finer = await readRollups(sql, projectId, { grain: GRAINS[index]!, from, to, width: grain });
        const stale = new Set([...stored.stale, ...finer.stale]);
        const differences = rollupDifferences({ ...stored, stale }, finer);
        if (differences.length > 0) {
          faults.push(
            `${new Date(from).toISOString()}, buckets of ${grain} minutes (${differences.join(", ")})`,
          );
        }
      }
      const more = nextBucket(current.position, buckets);
      return { examined: 1, faults, next: more && current.position, of: buckets.length };
    });
  },
};
