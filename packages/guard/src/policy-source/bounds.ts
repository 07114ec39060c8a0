import type { FieldBound } from "./options.ts";

/** Whether a value keeps a bound, and the nearest value that does. */
export type BoundCheck = { ok: true } | { ok: false; nearest: unknown };

const OK: BoundCheck = { ok: true };

/**
 * Checks a value against the harness's bound of its field. A value in another unit than the bound cannot be compared, so it is
 * out of bounds.
 */
export function checkBound(path: string, value: unknown, { min, max, oneOf }: FieldBound): BoundCheck {
  if (oneOf !== undefined && !oneOf.some((one) => JSON.stringify(one) === JSON.stringify(value)))
    return { ok: false, nearest: oneOf[0] };
  // No reserve is the least one; any other limit that is off lies above all others.
  const isOffLow = path === "thresholds.reserve";
  if (max !== undefined && !(value === null ? isOffLow : isAtMost(path, value, max)))
    return { ok: false, nearest: max };
  if (min !== undefined && !(value === null ? !isOffLow : isAtLeast(path, value, min)))
    return { ok: false, nearest: min };
  return OK;
}

const isAtMost = (path: string, value: unknown, max: unknown) => {
  const [one, other] = [amountOf(path, value), amountOf(path, max)];
  if (one === undefined || other === undefined || one.unit !== other.unit) return false;
  return one.amount <= other.amount && one.floor <= other.floor;
};

const isAtLeast = (path: string, value: unknown, min: unknown) => {
  const [one, other] = [amountOf(path, value), amountOf(path, min)];
  if (one === undefined || other === undefined || one.unit !== other.unit) return false;
  return one.amount >= other.amount && one.floor >= other.floor;
};

interface Amount {
  unit: "share" | "tokens" | "tokens_left";
  amount: number;
  /** Tokens that a share is at least. */
  floor: number;
}

function amountOf(path: string, value: unknown): Amount | undefined {
  if (typeof value === "string") return { unit: "share", amount: Number.parseFloat(value), floor: 0 };
  if (typeof value === "number") {
    if (path === "thresholds.reserve") return { unit: "tokens", amount: Math.abs(value), floor: 0 };
    return { unit: value < 0 ? "tokens_left" : "tokens", amount: value, floor: 0 };
  }
  if (typeof value !== "object" || value === null || !("percent" in value)) return undefined;
  const { percent, floor } = value as { percent: number; floor: number };
  return { unit: "share", amount: percent, floor };
}
