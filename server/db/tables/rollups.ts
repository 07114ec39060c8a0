import { type CacheRebuild, priceLevel } from "@plimsoll/fold";
import { defineTable, type RowOf } from "./table.ts";

/**
 * Turns by bucket, harness and model. `bins` counts turns by utilization, 2.5 % a bin. `stale` marks a peak that may be
 * too high, because a level was corrected: see server/write/project/stale-peaks.ts.
 */
export const rollups = defineTable("rollups", ["grain", "harness", "bucket", "model"], {
  grain: "int2",
  harness: "text",
  bucket: "time",
  model: "text",
  turns: "int4",
  missing: "int4",
  fresh: "int8",
  cacheRead: "int8",
  cacheWrite: "int8",
  output: "int8",
  costMicros: "int8",
  estimatedCostMicros: "int8",
  unpricedTurns: "int4",
  peakTokens: "int4?",
  peakUtilization: "float4?",
  bins: "int4[]",
  stale: "bool",
});

export type RollupRow = RowOf<typeof rollups>;

/** Adds a difference to what is stored. */
export const ADD_ROLLUP = {
  turns: "t.turns + EXCLUDED.turns",
  missing: "t.missing + EXCLUDED.missing",
  fresh: "t.fresh + EXCLUDED.fresh",
  cacheRead: "t.cache_read + EXCLUDED.cache_read",
  cacheWrite: "t.cache_write + EXCLUDED.cache_write",
  output: "t.output + EXCLUDED.output",
  costMicros: "t.cost_micros + EXCLUDED.cost_micros",
  estimatedCostMicros: "t.estimated_cost_micros + EXCLUDED.estimated_cost_micros",
  unpricedTurns: "t.unpriced_turns + EXCLUDED.unpriced_turns",
  peakTokens: "GREATEST(t.peak_tokens, EXCLUDED.peak_tokens)",
  peakUtilization: "GREATEST(t.peak_utilization, EXCLUDED.peak_utilization)",
  bins: `ARRAY(SELECT COALESCE(u.a, 0) + COALESCE(u.b, 0)
    FROM unnest(t.bins, EXCLUDED.bins) WITH ORDINALITY AS u(a, b, n) ORDER BY u.n)`,
  stale: "t.stale OR EXCLUDED.stale",
} as const;

/** What explains windows and falls, by hour and six hours, harness, model and name of the count. */
export const insightRollups = defineTable(
  "insight_rollups",
  ["grain", "bucket", "harness", "model", "what"],
  {
    grain: "int2",
    bucket: "time",
    harness: "text",
    model: "text",
    what: "text",
    count: "int4",
    tokens: "int8",
  },
);

/** A prompt whose cache was rebuilt. Tokens. */
export interface RebuiltPrompt {
  rebuild: CacheRebuild;
  prompt: number;
  /** Written for an hour. */
  hour: number;
}

/**
 * The counts of a cache that was rebuilt, under names with what models charge by: the level of its prompt, and how long what was written
 * lives. A turn whose writes have two lives counts once, with the shorter one.
 */
export function rebuildCounts({
  rebuild: { cause, tokens },
  prompt,
  hour,
}: RebuiltPrompt): Pick<InsightRollupRow, "what" | "count" | "tokens">[] {
  const what = `rebuild/${cause}/${priceLevel(prompt)}`;
  if (hour === 0) return [{ what, count: 1, tokens }];
  // Providers put what lives longer first, and the first tokens are those that were lost.
  const long = { what: `${what}/hour`, count: 1, tokens: Math.min(hour, tokens) };
  const rest = tokens - long.tokens;
  return rest === 0
    ? [long]
    : [
        { what, count: 1, tokens: rest },
        { ...long, count: 0 },
      ];
}

export type InsightRollupRow = RowOf<typeof insightRollups>;

export const ADD_INSIGHT_ROLLUP = {
  count: "t.count + EXCLUDED.count",
  tokens: "t.tokens + EXCLUDED.tokens",
} as const;

/** Boundaries by bucket, harness and type. */
export const boundaryRollups = defineTable("boundary_rollups", ["grain", "harness", "bucket", "type"], {
  grain: "int2",
  harness: "text",
  bucket: "time",
  type: "text",
  count: "int4",
  reclaimed: "int8",
});

export type BoundaryRollupRow = RowOf<typeof boundaryRollups>;

export const ADD_BOUNDARY_ROLLUP = {
  count: "t.count + EXCLUDED.count",
  reclaimed: "t.reclaimed + EXCLUDED.reclaimed",
} as const;
