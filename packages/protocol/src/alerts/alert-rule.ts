import { z } from "zod";
import { LONGEST } from "../events/event-rules.ts";
import { SESSION_KINDS } from "../events/events.ts";
import { plainMistake } from "../plain-mistake.ts";
import { safeParse } from "../safe-parse.ts";
import {
  AlertCondition,
  type AlertConditionType,
  type AlertSubjectKind,
  subjectKindOf,
} from "./alert-conditions.ts";
import { AlertDuration, durationMs } from "./alert-duration.ts";
import { AlertMatcher } from "./alert-matchers.ts";
import { ALERT_SEVERITIES } from "./notification.ts";

const pattern = (most: number) => z.string().min(1).max(most);

/** What a rule watches. `*` matches any characters. A missing field matches everything. */
export const AlertScope = z.strictObject({
  family: pattern(LONGEST.harness).optional(),
  harness: pattern(LONGEST.harness).optional(),
  model: pattern(LONGEST.model).optional(),
  kind: z.enum(SESSION_KINDS).optional(),
  agent: pattern(LONGEST.agent).optional(),
  match: z.array(AlertMatcher).max(20).optional(),
});
export type AlertScope = z.infer<typeof AlertScope>;

/** What alerts can be grouped by, besides their rule. */
export const ALERT_GROUP_LABELS = ["harness", "family", "session", "agent", "model"] as const;
export type AlertGroupLabel = (typeof ALERT_GROUP_LABELS)[number];

/** A rule as a person writes it, in JSON or YAML. */
export const AlertRule = z.strictObject({
  name: z.string().trim().min(1).max(100),
  condition: AlertCondition,
  scope: AlertScope.default({}),
  /** How long the condition must hold before the alert fires. */
  for: AlertDuration.default("0s"),
  /** How long the alert keeps firing after the condition has ended. */
  keep_firing_for: AlertDuration.default("0s"),
  severity: z.enum(ALERT_SEVERITIES).default("warning"),
  /** Ids of endpoints. Without any, the alert is only shown. */
  endpoints: z.array(z.uuid()).max(20).default([]),
  message: z.string().trim().min(1).max(2_000).optional(),
  labels: z
    .record(z.string().regex(/^[a-z][a-z0-9_]{0,39}$/, "use lower-case letters, digits and _"), pattern(200))
    .refine((labels) => Object.keys(labels).length <= 20, "write at most 20 labels")
    .default({}),
  group_by: z.array(z.enum(ALERT_GROUP_LABELS)).max(ALERT_GROUP_LABELS.length).default(["harness"]),
  /** How long the first notification of a group waits for more alerts. */
  group_wait: AlertDuration.default("0s"),
  /** Least time between two notifications of a group about new or ended alerts. */
  group_interval: AlertDuration.default("30s"),
  /** After which a notification is repeated; null never repeats it. */
  repeat_every: AlertDuration.refine(
    (text) => durationMs(text) >= 60_000,
    "write at least 1m, or null to never repeat",
  )
    .nullable()
    .default("4h"),
});
export type AlertRule = z.infer<typeof AlertRule>;
export type AlertRuleInput = z.input<typeof AlertRule>;

/** A mistake in a rule: where it is, and how to mend it. */
export interface AlertRuleMistake {
  /** Such as `condition.at_least`. */
  path: string;
  message: string;
}

/**
 * Reads a rule that somebody wrote.
 * @returns the rule with all defaults, or every mistake in it
 */
export function readAlertRule(
  value: unknown,
): { ok: true; rule: AlertRule } | { ok: false; mistakes: AlertRuleMistake[] } {
  const parsed = safeParse(AlertRule, value, { error: plainMistake });
  if (!parsed.success) {
    return {
      ok: false,
      mistakes: parsed.error.issues.map(({ path, message }) => ({ path: path.join("."), message })),
    };
  }
  const mistakes = scopeMistakes(parsed.data);
  return mistakes.length === 0 ? { ok: true, rule: parsed.data } : { ok: false, mistakes };
}

/** Fields of a scope that a kind of subject has. */
const SCOPE_FIELDS: Record<AlertSubjectKind, readonly (keyof AlertScope)[]> = {
  agent: ["family", "harness", "model", "kind", "agent", "match"],
  cache: ["family", "harness", "model", "kind", "agent", "match"],
  session: ["family", "harness", "model", "kind", "match"],
  harness: ["family", "harness", "match"],
  cost: ["family", "harness", "model"],
  project: [],
};

/** The fields of a scope that rules with a condition may have. */
export function scopeFieldsOf(type: AlertConditionType): readonly (keyof AlertScope)[] {
  // A fleet is made of agents, which a scope can select.
  return SCOPE_FIELDS[type === "fleet" ? "agent" : subjectKindOf(type)];
}

/** A field that the subject does not have would never match, and the rule would never fire. */
function scopeMistakes({ condition, scope }: AlertRule): AlertRuleMistake[] {
  const fields = scopeFieldsOf(condition.type);
  return (Object.keys(scope) as (keyof AlertScope)[])
    .filter((field) => scope[field] !== undefined && !fields.includes(field))
    .map((field) => ({
      path: `scope.${field}`,
      message: `a ${condition.type} rule is about a ${subjectKindOf(condition.type)}, which has no ${field}. Remove the field`,
    }));
}
