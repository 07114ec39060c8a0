import { AlertRule } from "./alert-rule.ts";

/** A rule with its fields in the order of the schema, and without those that have their default. For YAML. */
export function orderedRule(rule: AlertRule): Record<string, unknown> {
  const fields = Object.keys(AlertRule.shape) as (keyof AlertRule)[];
  const { type, ...condition } = rule.condition;
  const ordered: Record<string, unknown> = { ...rule, condition: { type, ...condition } };
  return Object.fromEntries(
    fields
      .filter((field) => rule[field] !== undefined && !isDefault(field, rule[field]))
      .map((field) => [field, ordered[field]]),
  );
}

function isDefault(field: keyof AlertRule, value: unknown): boolean {
  const absent = AlertRule.shape[field].safeParse(undefined);
  return absent.success && JSON.stringify(absent.data) === JSON.stringify(value);
}
