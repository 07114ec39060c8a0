/**
 * Turns an estimate of text into the tokens a provider will count. A prompt holds more than its messages (tool
 * schemas, wrapping), so the truth is `offset + slope x estimate`. The offset follows exactly from the last real
 * count; the slope is learned from how counts grew between calls. Plain JSON, deterministic.
 */
export interface Calibration {
  /** Real tokens per estimated token. */
  slope: number;
  /** Sums of the weighted regression through successive differences; the prior is in them. */
  products: number;
  squares: number;
  /** The last real count, and what was estimated for the same prompt. Tokens. */
  anchor: { estimate: number; actual: number } | undefined;
  /** Relative errors of the latest predictions, oldest first. */
  errors: number[];
  /** Tokens assumed beside the messages until something was measured. */
  overhead: number;
  counts: number;
}

export type EstimateSource = "measured" | "calibrated" | "estimated";

export interface Prediction {
  tokens: number;
  /** `measured`: this very prompt was counted; `calibrated`: corrected by an earlier count; `estimated`: neither. */
  source: EstimateSource;
  /** Median relative error of the latest predictions; undefined before the first could be checked. */
  error: number | undefined;
}

/** How much evidence the prior slope is worth, in squared tokens: a growth of some hundred tokens outweighs it. */
const PRIOR_WEIGHT = 200 ** 2;
/** Older evidence fades, so that a change of language or tool is followed. */
const FADE = 0.8;
const SLOPE_LIMIT = 2;
const KEPT_ERRORS = 20;

/** @param scale prior tokens per estimated token; @param overhead tokens assumed beside the messages. */
export function newCalibration(scale = 1, overhead = 0): Calibration {
  return {
    slope: scale,
    products: PRIOR_WEIGHT * scale,
    squares: PRIOR_WEIGHT,
    anchor: undefined,
    errors: [],
    overhead,
    counts: 0,
  };
}

/** What the provider will count for a prompt whose messages are estimated at `estimate` tokens. */
export function predict(calibration: Calibration, estimate: number): Prediction {
  const { anchor, slope, overhead } = calibration;
  const error = median(calibration.errors);
  if (anchor === undefined) {
    return { tokens: Math.round(overhead + slope * estimate), source: "estimated", error };
  }
  if (anchor.estimate === estimate) return { tokens: anchor.actual, source: "measured", error };
  const tokens = anchor.actual + slope * (estimate - anchor.estimate);
  // Emptying a window cannot leave less than the messages that remain.
  return { tokens: Math.round(Math.max(tokens, slope * estimate * 0.5, 0)), source: "calibrated", error };
}

/** Learns from a real count. `estimate` must be that of the prompt the count is for. */
export function calibrate(calibration: Calibration, estimate: number, actual: number): Calibration {
  const { anchor } = calibration;
  const predicted = predict(calibration, estimate).tokens;
  const errors =
    actual > 0 && anchor !== undefined
      ? [...calibration.errors, Math.abs(predicted - actual) / actual].slice(-KEPT_ERRORS)
      : calibration.errors;
  let { products, squares } = calibration;
  if (anchor !== undefined) {
    const grown = estimate - anchor.estimate;
    products = products * FADE + grown * (actual - anchor.actual);
    squares = squares * FADE + grown * grown;
  }
  const prior = calibration.counts === 0 ? calibration.slope : undefined;
  const slope = prior ?? Math.min(SLOPE_LIMIT * 1.5, Math.max(1 / SLOPE_LIMIT, products / squares));
  return {
    ...calibration,
    slope,
    products,
    squares,
    anchor: { estimate, actual },
    errors,
    counts: calibration.counts + 1,
  };
}

/** Tokens a piece of text estimated at `estimate` will be counted as, without the prompt around it. */
export function inContext(calibration: Calibration, estimate: number): number {
  return Math.round(calibration.slope * estimate);
}

function median(values: readonly number[]): number | undefined {
  if (values.length === 0) return undefined;
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}
