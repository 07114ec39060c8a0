import { z } from "zod";
import { THRESHOLD_NAMES } from "../policy/threshold-rules.ts";
import { PositiveDuration } from "./alert-duration.ts";

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

/** Past the line, and nothing brings the agent back. */
const PastLineCondition = z.strictObject({
  type: z.literal("past_line"),
  /** Turns within which the harness should have acted. */
  turns: z
    .number()
    .int()
    .min(1)
    .max(MOST_TURNS_AT_LEVEL - 1)
    .default(3),
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
    message: "write a number of turns, a number of minutes, or both",
  });

/** Cache reads ÷ context tokens. */
const CacheReadShareCondition = z.strictObject({
  type: z.literal("cache_read_share"),
  below: z.number().gt(0).max(1, "write a fraction: 0.5 means 50 %"),
  turns: turnsAtLevel,
});

/** Tokens of caches that were lost, with neither a fall nor a pause that explains it, over the latest turns. */
const CacheLostCondition = z.strictObject({
  type: z.literal("cache_lost"),
  at_least: tokens,
  turns: turnsAtLevel,
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
/** The part of a limit of an account that is used. */
const QuotaShareCondition = z.strictObject({
  type: z.literal("quota_share"),
  at_least: z.number().gt(0).max(10, "write a fraction: 0.9 means 90 %"),
});
/** A limit of an account is used up, or soon at the present pace. */
const QuotaForecastCondition = z.strictObject({
  type: z.literal("quota_forecast"),
  minutes_below: z.number().gt(0).max(10_080),
});
/** The provider's prompt cache of an agent goes cold, or is cold, while its level is high. */
const CacheColdCondition = z.strictObject({
  type: z.literal("cache_cold"),
  /** Context tokens. */
  at_least: tokens,
  minutes_before: z.number().min(0).max(60).default(0),
});
/** What the calls of the latest hour, or of the latest 24 hours, cost. */
const CostRateCondition = z.strictObject({
  type: z.literal("cost_rate"),
  per: z.enum(["hour", "day"]),
  at_least_usd: z.number().gt(0).max(1_000_000),
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
    message: "write a number of agents or a share of them, not both",
  });
/** Accepted events that wait for the projection. */
const BacklogCondition = z.strictObject({ type: z.literal("backlog"), older_than: PositiveDuration });

/** Conditions on how full a window is. Of two such alerts of an agent, the less severe one adds nothing. */
const LEVEL_CONDITIONS = [
  PastLineCondition,
  ThresholdCondition,
  LoadCondition,
  UtilizationCondition,
  TokensCondition,
  ForecastCondition,
] as const;

/** Every condition, by what it is about: each such subject has an alert of its own. */
const CONDITIONS = {
  agent: [
    ...LEVEL_CONDITIONS,
    CacheReadShareCondition,
    CacheLostCondition,
    UnexplainedFallCondition,
    SmallReclaimCondition,
    ThrashCondition,
    BoundaryRateCondition,
    RestartLimitCondition,
    WindowSuspectCondition,
    WindowUnknownCondition,
    TruncationCondition,
  ],
  cache: [CacheColdCondition],
  session: [SilenceCondition],
  harness: [HarnessSilenceCondition, PolicyCondition],
  cost: [CostRateCondition],
  project: [
    QuotaShareCondition,
    QuotaForecastCondition,
    RejectedEventsCondition,
    FleetCondition,
    BacklogCondition,
  ],
} as const;
export type AlertSubjectKind = keyof typeof CONDITIONS;

export const AlertCondition = z.discriminatedUnion("type", [
  ...CONDITIONS.agent,
  ...CONDITIONS.cache,
  ...CONDITIONS.session,
  ...CONDITIONS.harness,
  ...CONDITIONS.cost,
  ...CONDITIONS.project,
]);
export type AlertCondition = z.infer<typeof AlertCondition>;
export type AlertConditionType = AlertCondition["type"];
export type AlertConditionOf<Type extends AlertConditionType> = Extract<AlertCondition, { type: Type }>;
export type AgentCondition = z.infer<(typeof CONDITIONS.agent)[number]>;
export type AgentConditionType = AgentCondition["type"];

const typeOf = ({ shape }: (typeof AlertCondition.options)[number]): AlertConditionType => shape.type.value;

const SUBJECT_KINDS = new Map(
  (Object.keys(CONDITIONS) as AlertSubjectKind[]).flatMap((kind) =>
    CONDITIONS[kind].map((condition) => [typeOf(condition), kind] as const),
  ),
);
const LEVEL_TYPES: ReadonlySet<AlertConditionType> = new Set(LEVEL_CONDITIONS.map(typeOf));

export const subjectKindOf = (type: AlertConditionType): AlertSubjectKind => SUBJECT_KINDS.get(type)!;
export const isLevelCondition = (type: AlertConditionType): boolean => LEVEL_TYPES.has(type);
export const isAgentCondition = (condition: AlertCondition): condition is AgentCondition =>
  subjectKindOf(condition.type) === "agent";
