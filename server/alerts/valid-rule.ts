import { type AlertRule, readAlertRule } from "@plimsoll/protocol";
import { PlimsollError } from "../errors.ts";

/** @throws PlimsollError `invalid_alert_rule` with `details.mistakes` */
export function validRule(value: unknown): AlertRule {
  const read = readAlertRule(value);
  if (!read.ok) throw invalidRule(read.mistakes);
  return read.rule;
}

/** A refusal that names every mistake. */
export function invalidRule(mistakes: readonly { path: string; message: string }[]): PlimsollError {
  const [first] = mistakes;
  const more = mistakes.length > 1 ? ` There are ${mistakes.length - 1} more mistakes, see details.` : "";
  return new PlimsollError("invalid_alert_rule", `${first?.path || "rule"}: ${first?.message}.${more}`, {
    details: { mistakes },
  });
}
