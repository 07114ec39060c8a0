import { z } from "zod";
import { matchesPattern } from "../policy/resolve-policy.ts";
import { LONGEST_MATCHER } from "./matcher-text.ts";

/**
 * A condition on a label of an alert: `harness`, `family`, `session`, `agent`, `model`, `kind`, `rule`, `severity`, or a label of
 * the rule. A label that the alert does not have is an empty text.
 */
export const AlertMatcher = z
  .strictObject({
    label: z.string().min(1).max(LONGEST_MATCHER.label),
    /** `*` matches any characters. */
    is: z.string().max(LONGEST_MATCHER.value).optional(),
    is_not: z.string().max(LONGEST_MATCHER.value).optional(),
  })
  .refine(({ is, is_not }) => (is === undefined) !== (is_not === undefined), {
    path: ["is"],
    message: "write is or is_not, not both",
  });
export type AlertMatcher = z.infer<typeof AlertMatcher>;

export type AlertLabels = Readonly<Record<string, string>>;

/** Whether labels meet every matcher. */
export function matchesAll(matchers: readonly AlertMatcher[], labels: AlertLabels): boolean {
  return matchers.every(({ label, is, is_not }) => {
    const value = Object.hasOwn(labels, label) ? labels[label]! : "";
    return is === undefined ? !matchesPattern(is_not!, value) : matchesPattern(is, value);
  });
}
