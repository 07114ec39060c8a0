import type { ThresholdValue } from "@plimsoll/protocol/policy";

/** How a threshold is written. */
export const THRESHOLD_FORMS = ["unset", "off", "percent", "tokens", "remaining", "floored"] as const;
export type ThresholdForm = (typeof THRESHOLD_FORMS)[number];

/** The parts of a threshold that the form shows. Numbers as text, because they are being typed. */
export interface ThresholdParts {
  form: ThresholdForm;
  /** A percentage, or tokens. */
  amount: string;
  /** Tokens, with `floored`. */
  floor: string;
}

/** What is filled in first. */
const FIRST = { percent: "60", tokens: "100000", remaining: "40000", floor: "40000" } as const;

/** @param value undefined if the policy does not set it */
export function thresholdParts(value: ThresholdValue | undefined): ThresholdParts {
  if (value === undefined) return { form: "unset", amount: "", floor: "" };
  if (value === null) return { form: "off", amount: "", floor: "" };
  if (typeof value === "string") return { form: "percent", amount: value.replace("%", ""), floor: "" };
  if (typeof value === "object")
    return { form: "floored", amount: String(value.percent), floor: String(value.floor) };
  return { form: value < 0 ? "remaining" : "tokens", amount: String(Math.abs(value)), floor: "" };
}

/** What the form begins with when another kind of threshold is chosen. */
export function changedForm(parts: ThresholdParts, form: ThresholdForm): ThresholdParts {
  if (form === "unset" || form === "off") return { form, amount: "", floor: "" };
  const wasPercent = parts.form === "percent" || parts.form === "floored";
  const wasTokens = parts.form === "tokens" || parts.form === "remaining";
  if (form === "tokens" || form === "remaining") {
    return { form, amount: wasTokens ? parts.amount : FIRST[form], floor: "" };
  }
  const amount = wasPercent ? parts.amount : FIRST.percent;
  return { form, amount, floor: form === "percent" ? "" : wasTokens ? parts.amount : FIRST.floor };
}

/** The value that the parts mean; the form checks it with the whole policy. */
export function thresholdOf({ form, amount, floor }: ThresholdParts): ThresholdValue | undefined {
  const number = Number(amount);
  switch (form) {
    case "unset":
      return undefined;
    case "off":
      return null;
    case "percent":
      return `${amount.trim()}%`;
    case "tokens":
      return number;
    case "remaining":
      return -number;
    case "floored":
      return { percent: number, floor: Number(floor) };
  }
}
