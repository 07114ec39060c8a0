import type { AppliedThreshold } from "@plimsoll/protocol/api";
import { compact } from "../format.ts";

/** A threshold as it is drawn: `20%`, `150k`, `15%, ≥ 40k`, or `33k free` for tokens that must stay free. */
export function thresholdLabel({ label }: Pick<AppliedThreshold, "label">): string {
  const floored = /^(.*%), at least (\d+)$/.exec(label);
  if (floored !== null) return `${floored[1]}, ≥ ${compact(Number(floored[2]))}`;
  if (!/^-?\d+$/.test(label)) return label;
  const tokens = Number(label);
  return tokens < 0 ? `${compact(-tokens)} free` : compact(tokens);
}
