/**
 * The unit of the coarse times that are indexed, in ms: an index entry is written when a session enters the next slot,
 * not with every turn.
 */
export const SLOT_MS = 300_000;

/** The slot of an instant given in epoch ms. */
export function slotOf(at: number): number {
  return Math.floor(at / SLOT_MS);
}

/** Minutes a rollup bucket spans, finest first; each divides the next. */
export const GRAINS = [1, 15, 60, 360] as const;
export type Grain = (typeof GRAINS)[number];

/** Those of `insight_rollups`: no page shows them by the minute. */
export const INSIGHT_GRAINS = [60, 360] as const;

const MINUTE_MS = 60_000;

/** The start of the bucket that an instant falls in. Epoch ms. */
export function bucketOf(at: number, grain: number): number {
  const span = grain * MINUTE_MS;
  return Math.floor(at / span) * span;
}

/**
 * The harness, and the model, of rollup rows that add up all of them. Without these rows a fleet's chart would read a row
 * for each harness and model in each bucket. No harness or model has an empty name.
 */
export const ALL = "";
