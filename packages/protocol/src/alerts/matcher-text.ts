import type { AlertMatcher } from "./alert-matchers.ts";

/** Characters. */
export const LONGEST_MATCHER = { label: 40, value: 256 } as const;

/** A matcher as people write it: `label=value` or `label!=value`. Undefined if the text is neither. */
export function readMatcher(text: string): AlertMatcher | undefined {
  const [, label, not, value = ""] = /^\s*([^=!\s]+)\s*(!?)=\s*(.*?)\s*$/.exec(text) ?? [];
  if (label === undefined || label.length > LONGEST_MATCHER.label || value.length > LONGEST_MATCHER.value)
    return undefined;
  return not === "!" ? { label, is_not: value } : { label, is: value };
}

/** Such as `harness=phantom@vm-3`. */
export const matcherText = ({ label, is, is_not }: AlertMatcher): string =>
  is === undefined ? `${label}!=${is_not}` : `${label}=${is}`;
