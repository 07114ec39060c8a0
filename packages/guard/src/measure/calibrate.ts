/**
 * Predicts a provider's token count from an estimate: `offset + slope × estimate`. The offset, such as tool schemas,
 * comes from the last real count; the slope from how counts grew between calls. Plain JSON.
 */
export interface Calibration {
  /** Real tokens per estimated token. */
  slope: number;
  /** Weighted sums of the regression over successive differences, including the prior. */
  products: number;
  squares: number;
  /** The last real count and the estimate of the same prompt, in tokens. */
  anchor: Anchor | undefined;
  /** Relative errors of the latest predictions, oldest first. Fractions. */
  errors: number[];
  /** Tokens assumed in addition to the messages, until the first real count. */
  overhead: number;
  /** Number of real counts so far. */
  counts: number;
  /** Tokens of the model's tokenizer per estimated token that were assumed. 1 if missing. */
  scale?: number;
}

/** A real count, and the estimate of the same prompt. Tokens. */
interface Anchor {
  estimate: number;
  actual: number;
  ofOtherModel?: boolean;
  /** What others than the guard had taken out of the prompt, which the estimate has. */
  cleared?: number;
}

/** `measured`: this prompt was counted. `calibrated`: corrected by an earlier count. `estimated`: neither. */
export type EstimateSource = "measured" | "calibrated" | "estimated";

/** A predicted token count. */
export interface Prediction {
  tokens: number;
  source: EstimateSource;
  /** Median relative error of the latest predictions, as a fraction; `undefined` before the first check. */
  error: number | undefined;
}

/** Weight of the prior slope, in squared tokens. Growth of a few hundred tokens outweighs it. */
const PRIOR_WEIGHT = 200 ** 2;
/** Weight kept by older evidence with each count, so the slope follows a change of language or tools. */
const FADE = 0.8;
const SLOPE_LIMIT = 2;
const KEPT_ERRORS = 20;

/**
 * Returns a calibration without evidence. `scale` is the prior slope, `overhead` the tokens assumed in addition to
 * the messages.
 */
export function newCalibration(scale = 1, overhead = 0): Calibration {
  return {
    slope: scale,
    products: PRIOR_WEIGHT * scale,
    squares: PRIOR_WEIGHT,
    anchor: undefined,
    errors: [],
    overhead,
    counts: 0,
    scale,
  };
}

/** Converts what was learned with one model to the tokens of another, whose tokenizer has another scale. */
export function rescaled(calibration: Calibration, scale: number): Calibration {
  const ratio = scale / (calibration.scale ?? 1);
  if (ratio === 1) return calibration;
  const { anchor, slope, products } = calibration;
  const actual = anchor && Math.round(anchor.actual * ratio);
  return {
    ...calibration,
    scale,
    slope: slope * ratio,
    products: products * ratio,
    anchor: anchor && {
      ...anchor,
      actual: actual!,
      ofOtherModel: true,
      ...(anchor.cleared !== undefined && { cleared: anchor.cleared * ratio }),
    },
  };
}

/** Predicts the provider's count for a prompt whose messages are estimated at `estimate` tokens. */
export function predict(calibration: Calibration, estimate: number): Prediction {
  const { anchor, slope, overhead } = calibration;
  const error = median(calibration.errors);
  if (anchor === undefined) {
    return { tokens: Math.round(overhead + slope * estimate), source: "estimated", error };
  }
  if (anchor.estimate === estimate && anchor.ofOtherModel !== true)
    return { tokens: anchor.actual, source: "measured", error };
  const tokens = anchor.actual + slope * (estimate - anchor.estimate);
  // Even after a large fall, the remaining messages have a size.
  const least = estimate < anchor.estimate ? slope * estimate * 0.5 : 0;
  return { tokens: Math.round(Math.max(tokens, least)), source: "calibrated", error };
}

/** Share of an estimate that was never compared with a count, and of what was added or removed since the last one. */
const UNCHECKED = { whole: 0.05, change: 0.15 };
/** Largest share of a prediction that it is assumed to be off. */
export const MOST_OFF = 0.2;

/**
 * By how many tokens the true count may exceed the prediction for a prompt estimated at `estimate` tokens.
 * @param lowered the guard or the harness shortened the prompt since the last count. That may be what the provider had cleared.
 */
export function uncertainty(calibration: Calibration, estimate: number, lowered: boolean): number {
  const { tokens, source, error = 0 } = predict(calibration, estimate);
  if (source === "measured") return 0;
  const { anchor, slope } = calibration;
  const changed = anchor && slope * Math.abs(estimate - anchor.estimate);
  const whole = slope * estimate * (1 + UNCHECKED.whole);
  const cleared = lowered ? Math.min(anchor?.cleared ?? 0, Math.max(0, whole - tokens)) : 0;
  return assumedError(tokens, changed, error) + Math.round(cleared);
}

/**
 * By how many tokens a prediction is assumed to be too low.
 * @param changed tokens added and removed since the last count; `undefined` if there was none
 * @param error median relative error of the latest predictions
 */
export function assumedError(tokens: number, changed: number | undefined, error: number): number {
  if (changed === undefined) return Math.round(tokens * UNCHECKED.whole);
  return Math.round(Math.min(tokens * MOST_OFF, Math.max(changed * UNCHECKED.change, tokens * error)));
}

/** Learns from a real count. `estimate` must belong to the counted prompt. */
export function calibrate(calibration: Calibration, estimate: number, actual: number): Calibration {
  // The difference to a prompt that the provider had cleared says nothing of the estimate.
  const anchor = calibration.anchor?.cleared ? undefined : calibration.anchor;
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

/** Takes a real count without learning the slope from it: something else than the estimate knows has changed the prompt. */
export function anchored(calibration: Calibration, estimate: number, actual: number): Calibration {
  const missing = predict(calibration, estimate).tokens - actual + (calibration.anchor?.cleared ?? 0);
  const anchor = { estimate, actual, cleared: Math.max(0, missing) };
  return { ...calibration, anchor, counts: calibration.counts + 1 };
}

/** Predicts the count of one piece of text, without the rest of the prompt. */
export function inContext(calibration: Calibration, estimate: number): number {
  return Math.round(calibration.slope * estimate);
}

function median(values: readonly number[]): number | undefined {
  if (values.length === 0) return undefined;
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}
