import type { KeyView } from "./read.ts";

export const KEY_STATES = ["active", "expiring", "replaced", "expired", "revoked"] as const;
/**
 * `expiring`: expires within 7 days and has no successor. `replaced`: has a successor and still works for a while. An
 * `expired` or `revoked` key is refused.
 */
export type KeyState = (typeof KEY_STATES)[number];

/** Milliseconds before its expiry from which a key counts as expiring. */
export const EXPIRY_WARNING_MS = 7 * 86_400_000;

/** @param now epoch milliseconds */
export function keyState(
  key: Pick<KeyView, "expires_at" | "revoked_at" | "replaced_by">,
  now: number,
): KeyState {
  if (key.revoked_at !== null) return "revoked";
  const left = key.expires_at === null ? Number.POSITIVE_INFINITY : Date.parse(key.expires_at) - now;
  if (left <= 0) return "expired";
  if (key.replaced_by !== null) return "replaced";
  return left <= EXPIRY_WARNING_MS ? "expiring" : "active";
}
