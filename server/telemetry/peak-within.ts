import { BIN_WIDTH } from "@plimsoll/protocol";
import { Prisma } from "../db/client.ts";

/** Bins of a histogram below 1. */
export const BINS_WITHIN = Math.round(1 / BIN_WIDTH);

/**
 * The highest utilization up to 1 of some rows of `rollups`, as an aggregate in SQL. A level above 1 says that the window size
 * is wrong, and would hide every other peak. A bucket with such a level knows its other levels by their bins alone: of its
 * highest one, the middle counts, which is exact to half a bin (1.25 points).
 */
export const PEAK_WITHIN = Prisma.raw(`GREATEST(
  max(peak_utilization) FILTER (WHERE peak_utilization <= 1),
  max(CASE WHEN peak_utilization > 1 THEN (
    SELECT (max(bin) - 0.5) * ${BIN_WIDTH} FROM generate_subscripts(bins, 1) AS bin WHERE bin <= ${BINS_WITHIN} AND bins[bin] > 0
  ) END))::float4`);
