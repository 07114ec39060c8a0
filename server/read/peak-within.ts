import { BIN_WIDTH } from "@plimsoll/fold";
import { Prisma } from "../db/client.ts";

/** Bins of a histogram below 1. */
export const BINS_WITHIN = Math.round(1 / BIN_WIDTH);

/** The highest utilization of the rows of `rollups` that have none above 1, as an aggregate in SQL. */
export const PEAK_EXACTLY = Prisma.raw("max(peak_utilization) FILTER (WHERE peak_utilization <= 1)");

/**
 * The highest utilization up to 1 of the other rows. A level above 1 says that the window size is wrong, and would hide every
 * other peak. Such a row knows its other levels by their bins alone: of its highest one, the middle counts, which is exact to
 * half a bin (1.25 points).
 */
export const PEAK_BY_BIN = Prisma.raw(`max(CASE WHEN peak_utilization > 1 THEN (
    SELECT (max(bin) - 0.5) * ${BIN_WIDTH} FROM generate_subscripts(bins, 1) AS bin WHERE bin <= ${BINS_WITHIN} AND bins[bin] > 0
  ) END)::float4`);

/** The highest utilization up to 1 of some rows of `rollups`. */
export const PEAK_WITHIN = Prisma.sql`GREATEST(${PEAK_EXACTLY}, ${PEAK_BY_BIN})::float4`;

/**
 * The highest utilization up to 1 of a span, given what its rollups say exactly and by the middle of a bin, and the exact peak of
 * the sessions that lie in the span. If that peak is in the bin or above it, it is the true one.
 */
export function peakWithin(
  exactly: number | null,
  byBin: number | null,
  ofSessions: number | null,
): number | null {
  const known = [exactly, ofSessions].filter((one) => one !== null);
  if (byBin !== null && (ofSessions === null || ofSessions < byBin - BIN_WIDTH / 2)) known.push(byBin);
  return known.length === 0 ? null : Math.max(...known);
}
