import { Prisma } from "../db/client.ts";
import type { Span } from "./reader.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/**
 * Which rollup rows cover a span: whole hours from the hour rows, what is left at both ends from the minute rows. The
 * cost follows the length of the span in hours, and the result is exact to the minute.
 */
export function coveringBuckets({ from, to }: Span): Prisma.Sql {
  const start = Math.floor(from / MINUTE) * MINUTE;
  const firstHour = Math.ceil(start / HOUR) * HOUR;
  const lastHour = Math.floor(to / HOUR) * HOUR;
  if (firstHour >= lastHour) {
    return Prisma.sql`(grain = 1 AND bucket >= ${new Date(start)} AND bucket < ${new Date(to)})`;
  }
  return Prisma.sql`(
    (grain = 60 AND bucket >= ${new Date(firstHour)} AND bucket < ${new Date(lastHour)})
    OR (grain = 1 AND bucket >= ${new Date(start)} AND bucket < ${new Date(firstHour)})
    OR (grain = 1 AND bucket >= ${new Date(lastHour)} AND bucket < ${new Date(to)}))`;
}

/** Seconds; each divides the next, or is whole hours. */
const STEPS = [60, 300, 600, 900, 1_800, 3_600, 10_800, 21_600, 43_200, 86_400, 604_800, 2_592_000];
const WANTED_BUCKETS = 120;
const MOST_BUCKETS = 1_000;

/** The step in seconds that gives about 120 buckets, or the one asked for when that stays within 1,000. */
export function stepFor({ from, to }: Span, asked: number | undefined): number {
  const seconds = (to - from) / 1_000;
  const fewest = seconds / MOST_BUCKETS;
  if (asked !== undefined && asked >= fewest) return asked;
  const target = asked === undefined ? seconds / WANTED_BUCKETS : fewest;
  return STEPS.find((step) => step >= target) ?? Math.ceil(target / 86_400) * 86_400;
}

/** Rollup rows fine enough for a step in seconds. */
export function grainFor(step: number): 1 | 60 {
  return step % 3_600 === 0 ? 60 : 1;
}
