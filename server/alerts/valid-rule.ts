import { type AlertRule, readAlertRule } from "@plimsoll/protocol/alerts";
import { PlimsollError } from "../errors.ts";
import { type Mistake, mistakesText } from "../mistakes.ts";

/** @throws PlimsollError `invalid_alert_rule` with `details.mistakes` */
export function validRule(value: unknown): AlertRule {
  const read = readAlertRule(value);
  if (!read.ok) throw invalidRule(read.mistakes);
  return read.rule;
}

/** A refusal that names the mistakes. */
export const invalidRule = (mistakes: readonly Mistake[]): PlimsollError =>
  new PlimsollError("invalid_alert_rule", mistakesText(mistakes, "rule"), { details: { mistakes } });
