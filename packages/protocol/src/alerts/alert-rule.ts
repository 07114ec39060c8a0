import { z } from "zod";
import { LONGEST } from "../events/event-rules.ts";
import { SESSION_KINDS } from "../events/events.ts";
import { THRESHOLD_NAMES } from "../policy/threshold-rules.ts";
import { AlertDuration, durationMs, PositiveDuration } from "./alert-duration.ts";
import { AlertMatcher } from "./alert-matchers.ts";
import { ALERT_SEVERITIES } from "./notification.ts";

/** Levels since the last fall that are remembered of an agent: a rule cannot look back further. */
export const MOST_TURNS_AT_LEVEL = 12;

const turnsAtLevel = z
  .number()
  .int()
  .min(1)
  .max(MOST_TURNS_AT_LEVEL, `write at most ${MOST_TURNS_AT_LEVEL} turns, or use \`for\``)
  .default(1);
const share = z.number().gt(0).max(5, "write a fraction: 0.9 means 90 %");
const tokens = z.number().int().min(1).max(2_147_483_647);
const perHour = z.number().int().min(1).max(1_000_000);

/** A named threshold, or the agent's line, was crossed upwards and not yet downwards. */
const ThresholdCondition = z.strictObject({
  type: z.literal("threshold"),
  threshold: z.enum(["line", ...THRESHOLD_NAMES]),
});

/** Context tokens ÷ tokens at the line. */
const LoadCondition = z.strictObject({ type: z.literal("load"), at_least: share, turns: turnsAtLevel });
/** Context tokens ÷ window tokens. */
const UtilizationCondition = z.strictObject({
  type: z.literal("utilization"),
  at_least: share,
  turns: turnsAtLevel,
});
const TokensCondition = z.strictObject({ type: z.literal("tokens"), at_least: tokens, turns: turnsAtLevel });

/** The line is near at the present pace, or passed. */
const ForecastCondition = z
  .strictObject({
    type: z.literal("forecast"),
    turns_below: z.number().int().min(1).max(10_000).optional(),
    minutes_below: z.number().gt(0).max(10_080).optional(),
  })
  .refine(({ turns_below, minutes_below }) => turns_below !== undefined || minutes_below !== undefined, {
    path: ["turns_below"],
    message: "write turns_below or minutes_below",
  });

const UnexplainedFallCondition = z.strictObject({ type: z.literal("unexplained_fall") });
/** A masking or compaction that freed little. */
const SmallReclaimCondition = z.strictObject({
  type: z.literal("small_reclaim"),
  below_tokens: tokens,
});
const ThrashCondition = z.strictObject({
  type: z.literal("thrash"),
  boundaries: z.number().int().min(2).max(20),
  within_turns: z.number().int().min(2).max(200),
});
const BoundaryRateCondition = z.strictObject({
  type: z.literal("boundaries_per_hour"),
  boundary: z.enum(["subtick", "restarted"]),
  at_least: z.number().int().min(1).max(40),
});
/** The number of a restart, as the harness counts them. */
const RestartLimitCondition = z.strictObject({
  type: z.literal("restart_limit"),
  at_least: z.number().int().min(1).max(1_000_000),
});

/** Utilization above 100 %: the window size is probably wrong. */
const WindowSuspectCondition = z.strictObject({ type: z.literal("window_suspect") });
const WindowUnknownCondition = z.strictObject({ type: z.literal("window_unknown") });
/** A fall that looks as if the server of the model dropped the oldest messages. */
const TruncationCondition = z.strictObject({ type: z.literal("truncation_suspected") });

/** A live session without a turn. */
const SilenceCondition = z.strictObject({ type: z.literal("silence"), longer_than: PositiveDuration });
/** A harness instance that stopped reporting. */
const HarnessSilenceCondition = z.strictObject({
  type: z.literal("harness_silence"),
  longer_than: PositiveDuration,
});
const PolicyCondition = z.strictObject({
  type: z.literal("policy"),
  state: z.enum(["rejected", "drifted", "not_applied"]),
  /** For `not_applied`: time since the harness was offered the policy. */
  within: PositiveDuration.default("15m"),
});
/** Events that the server rejected, in an hour. */
const RejectedEventsCondition = z.strictObject({
  type: z.literal("rejected_events"),
  per_hour: perHour,
});
const FleetCondition = z
  .strictObject({
    type: z.literal("fleet"),
    /** Context tokens ÷ tokens at the line. */
    load_at_least: share,
    agents: z.number().int().min(1).max(1_000_000).optional(),
    /** Fraction of the live agents. */
    share: z.number().gt(0).max(1, "write a fraction: 0.5 means 50 %").optional(),
  })
  .refine(({ agents, share }) => (agents === undefined) !== (share === undefined), {
    path: ["agents"],
    message: "write agents or share, not both",
  });
/** Accepted events that wait for the projection. */
const BacklogCondition = z.strictObject({ type: z.literal("backlog"), older_than: PositiveDuration });

export const AlertCondition = z.discriminatedUnion("type", [
  ThresholdCondition,
  LoadCondition,
  UtilizationCondition,
  TokensCondition,
  ForecastCondition,
  UnexplainedFallCondition,
  SmallReclaimCondition,
  ThrashCondition,
  BoundaryRateCondition,
  RestartLimitCondition,
  WindowSuspectCondition,
  WindowUnknownCondition,
  TruncationCondition,
  SilenceCondition,
  HarnessSilenceCondition,
  PolicyCondition,
  RejectedEventsCondition,
  FleetCondition,
  BacklogCondition,
]);
export type AlertCondition = z.infer<typeof AlertCondition>;
export type AlertConditionType = AlertCondition["type"];

/** What a condition is about. Each subject has its own alert. */
export type AlertSubjectKind = "agent" | "session" | "harness" | "project";

const SUBJECT_KIND: Partial<Record<AlertConditionType, AlertSubjectKind>> = {
  silence: "session",
  harness_silence: "harness",
  policy: "harness",
  rejected_events: "project",
  fleet: "project",
  backlog: "project",
};

export const subjectKindOf = (type: AlertConditionType): AlertSubjectKind => SUBJECT_KIND[type] ?? "agent";

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
  const parsed = AlertRule.safeParse(value);
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
  session: ["family", "harness", "model", "kind", "match"],
  harness: ["family", "harness", "match"],
  project: [],
};

/** A field that the subject does not have would never match, and the rule would never fire. */
function scopeMistakes({ condition, scope }: AlertRule): AlertRuleMistake[] {
  // A fleet is made of agents, which a scope can select.
  const kind = condition.type === "fleet" ? "agent" : subjectKindOf(condition.type);
  return (Object.keys(scope) as (keyof AlertScope)[])
    .filter((field) => scope[field] !== undefined && !SCOPE_FIELDS[kind].includes(field))
    .map((field) => ({
      path: `scope.${field}`,
      message: `a ${condition.type} rule is about a ${kind}, which has no ${field}. Remove the field`,
    }));
}
