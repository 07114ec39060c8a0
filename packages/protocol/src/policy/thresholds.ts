import { z } from "zod";
import type * as rules from "./threshold-rules.ts";

export * from "./threshold-rules.ts";

/** The shape of a threshold as people write it; what it means is in `threshold-rules.ts`. */
export const ThresholdValue = z.union(
  [
    z.null(),
    z.string().regex(/^(100(\.0{1,4})?|\d{1,2}(\.\d{1,4})?)%$/, 'must look like "15%"'),
    z.number().int(),
    z.strictObject({ percent: z.number().gt(0).max(100), floor: z.number().int().positive() }),
  ],
  'must be a share up to 100% such as "15%", a whole number of tokens, or null',
);
export type ThresholdValue = rules.ThresholdValue;

export const Thresholds = z.object({
  warning: ThresholdValue,
  ceiling: ThresholdValue,
  soft: ThresholdValue,
  hard: ThresholdValue,
  reserve: ThresholdValue,
});
export type Thresholds = rules.Thresholds;
