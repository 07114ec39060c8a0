import { z } from "zod";
import { PolicySettings } from "../policy/policy-schema.ts";
import {
  CALL_RESULTS,
  HELD_KINDS,
  MOST_CALLED,
  MOST_HELD,
  OUTCOME_COUNTS,
  type OutcomeCount,
  STOP_REASONS,
  WITNESSES,
} from "../terms.ts";
import { DEFAULT_AGENT, instantMs, isInRange, LARGEST, LONGEST, mostOf } from "./event-rules.ts";
import { branchName, machineName, repositoryName } from "./origin-names.ts";

export { DEFAULT_AGENT, instantMs, LARGEST, LONGEST };

/** Limits of one request to `POST /api/v1/events`. Sizes in bytes. */
export const LIMITS = {
  events: 10_000,
  /** Bytes of JSON. A larger event of a larger body is rejected alone. */
  eventBytes: 256 * 1024,
  compressedBytes: 4 * 1024 * 1024,
  decompressedBytes: 32 * 1024 * 1024,
} as const;

const HALF_CHARACTERS = /\p{Cs}/gu;

/** PostgreSQL text holds no NUL and no half of a surrogate pair: refused here, where the sender can be told. */
const text = (max: number) =>
  z
    .string()
    .min(1)
    .max(max)
    .refine((value) => !value.includes("\u0000"), "must not contain a NUL character")
    .refine((value) => value.isWellFormed(), "must not contain half of a surrogate pair");

/** Words for people: cut to length and cleaned of what cannot be stored, rather than refused. */
const prose = (max: number) =>
  z.string().transform((value) => value.slice(0, max).replaceAll("\u0000", "").replace(HALF_CHARACTERS, ""));

/** A count of tokens. The prompt's three parts are added up, and their sum must fit PostgreSQL's integer. */
const tokens = z.number().int().min(0).max(LARGEST.tokens);
/** A missing count is unknown, never zero; `null` says the same as leaving it out. */
const maybeTokens = tokens.nullish().transform((value) => value ?? undefined);
const count = z.number().int().min(0).max(LARGEST.integer);
const maybeOutcome = (name: OutcomeCount) =>
  count.nullish().transform((value) => (value == null ? undefined : Math.min(value, mostOf(name))));

const NOT_AN_INSTANT = "must be RFC 3339 (2026-11-20T10:00:00Z) or epoch milliseconds";

/** RFC 3339 or epoch milliseconds; becomes epoch milliseconds. */
export const instant = z
  .union([z.number(), z.string()], { error: NOT_AN_INSTANT })
  .transform((value, context) => {
    const ms = instantMs(value);
    if (!Number.isNaN(ms) && isInRange(ms)) return ms;
    const seconds = typeof value === "number" && isInRange(value * 1000);
    context.addIssue({
      code: "custom",
      message: Number.isNaN(ms)
        ? NOT_AN_INSTANT
        : seconds
          ? "looks like epoch seconds: send milliseconds"
          : "must lie between the years 2000 and 2100",
    });
    return z.NEVER;
  })
  .pipe(z.number());

const envelope = {
  id: text(LONGEST.id),
  at: instant,
  harness: text(LONGEST.harness),
  session: text(LONGEST.session),
  agent: text(LONGEST.agent).default(DEFAULT_AGENT),
  parent_agent: text(LONGEST.agent).optional(),
  /** Of a sub-agent that its harness runs as a session: the id of that session. */
  own_session: text(LONGEST.session).optional(),
  window: z.number().int().min(0).max(LARGEST.window).optional(),
  /** Where the session runs. Cleaned rather than refused: no turn is worth less for an odd host name. */
  machine: z.string().transform(machineName).optional(),
  /** The name of a git remote, without what logs in to it. */
  repository: z.string().transform(repositoryName).optional(),
  branch: z.string().transform(branchName).optional(),
};

/** Whether `input_tokens` already includes the cached tokens. */
export const Basis = z.enum(["inclusive", "exclusive"]);
export type Basis = z.infer<typeof Basis>;

export const Usage = z.object({
  input_tokens: maybeTokens,
  cache_read_tokens: maybeTokens,
  cache_write_tokens: maybeTokens,
  /** Of `cache_write_tokens`, those that the provider keeps for an hour. 0: for a shorter time. Left out: not known. */
  cache_write_1h_tokens: maybeTokens,
  output_tokens: maybeTokens,
  reasoning_tokens: maybeTokens,
  basis: Basis.optional(),
});
export type Usage = z.infer<typeof Usage>;

export const Composition = z.object({
  system: maybeTokens,
  tools: maybeTokens,
  memory: maybeTokens,
  history: maybeTokens,
  tool_output: maybeTokens,
  other: maybeTokens,
});
export type Composition = z.infer<typeof Composition>;

const held = { kind: z.enum(HELD_KINDS), tool: text(128).optional(), tokens };
const CalledTool = z.object({
  tool: text(128),
  /** A UTC day, such as `2026-11-29`. */
  day: z.iso.date().refine((day) => isInRange(Date.parse(day)), "must lie between the years 2000 and 2100"),
  calls: count,
  failed: count,
});
export type CalledTool = z.infer<typeof CalledTool>;

/** What the window holds at a turn. Kinds and names of tools only: nothing of what is said or read. */
export const TurnContents = z.object({
  parts: z.array(z.object({ ...held, count: count.optional() })).max(MOST_HELD.parts),
  /** The largest things, and when a turn was sent each first. */
  largest: z.array(z.object({ ...held, at: instant })).max(MOST_HELD.largest),
  /** Every tool that the agent called up to this turn, by day. Left out: not known. Empty: it called none. */
  called: z.array(CalledTool).max(MOST_CALLED).optional(),
});
export type TurnContents = z.infer<typeof TurnContents>;

/** What came of the tool calls of a turn; a missing count is unknown. */
export const TurnOutcome = z.object(
  Object.fromEntries(OUTCOME_COUNTS.map((name) => [name, maybeOutcome(name)])) as Record<
    OutcomeCount,
    ReturnType<typeof maybeOutcome>
  >,
);

export const TurnEvent = z.object({
  ...envelope,
  type: z.literal("turn"),
  model: text(LONGEST.model),
  seq: count.optional(),
  usage: Usage,
  context_window: tokens.min(1).optional(),
  estimated: z.boolean().optional(),
  composition: Composition.optional(),
  composition_estimated: z.boolean().optional(),
  duration_ms: z.number().min(0).max(LARGEST.integer).transform(Math.round).optional(),
  cost_usd: z.number().min(0).max(LARGEST.costUsd).optional(),
  purpose: z.enum(["compaction"]).optional(),
  stop_reason: z.enum(STOP_REASONS).optional(),
  outcome: TurnOutcome.optional(),
  contents: TurnContents.optional(),
  /** Who reports the call, if not the harness itself. */
  witness: z.enum(WITNESSES).optional(),
});
export type TurnEvent = z.infer<typeof TurnEvent>;

/**
 * One tool call ended, for senders that cannot send its turn again with an `outcome`. The id identifies the call, and repeats of it are
 * one call.
 */
export const ToolResultEvent = z.object({
  ...envelope,
  type: z.literal("tool_result"),
  result: z.enum(CALL_RESULTS),
  /** The name of the tool. */
  tool: text(128).optional(),
  /** The id of the turn that asked for the call. Without it, that is the latest turn of the agent that had begun by then. */
  turn: text(LONGEST.id).optional(),
  witness: z.enum(WITNESSES).optional(),
});
export type ToolResultEvent = z.infer<typeof ToolResultEvent>;

export const ThresholdCrossedEvent = z.object({
  ...envelope,
  type: z.literal("threshold_crossed"),
  threshold: text(64),
  direction: z.enum(["up", "down"]),
  threshold_tokens: tokens,
  context_tokens: tokens,
});

/** Who changed a prompt, if not the harness that reports it. */
const ACTORS = ["provider"] as const;

export const MaskedEvent = z.object({
  ...envelope,
  type: z.literal("masked"),
  observations: count,
  total_masked: count.optional(),
  tokens_before: maybeTokens,
  tokens_after: maybeTokens,
  tools: z.array(text(128)).max(256).optional(),
  actor: z.enum(ACTORS).optional(),
});

const survivals = z.object({ verbatim: count, near: count, absent: count }).optional();

export const CompactedEvent = z.object({
  ...envelope,
  type: z.literal("compacted"),
  trigger: z.enum(["auto", "manual", "proactive"]),
  tokens_before: maybeTokens,
  tokens_after: maybeTokens,
  sections: count.optional(),
  actor: z.enum(ACTORS).optional(),
  /** How much of what the context held is in what replaced it: counts, and none of the texts. */
  survived: z.object({ rule: survivals, prompt: survivals, file: survivals }).optional(),
});

/** The context was emptied by hand, such as `/clear`. */
export const ClearedEvent = z.object({
  ...envelope,
  type: z.literal("cleared"),
  tokens_before: maybeTokens,
  tokens_after: maybeTokens,
  reason: prose(500).optional(),
});

export const WindDownEvent = z.object({
  ...envelope,
  type: z.literal("wind_down"),
  context_tokens: tokens,
  turns_left: count.optional(),
});

/** A tool's output was cut before it entered the context: it lowers no level, and explains no fall. */
export const OutputCutEvent = z.object({
  ...envelope,
  type: z.literal("output_cut"),
  tool: text(128).optional(),
  /** Characters that were left out. */
  characters: count,
});

/** An agent wrote a note for itself, to have it after the next fall. The note stays on its machine. */
export const CheckpointEvent = z.object({
  ...envelope,
  type: z.literal("checkpoint"),
  /** Of the note, and its tokens as the sender estimates them. */
  characters: count,
  tokens,
  /** Of the next prompt, and of the agent's line. */
  context_tokens: maybeTokens,
  line_tokens: maybeTokens,
});
export type CheckpointEvent = z.infer<typeof CheckpointEvent>;

/** What a compaction dropped was put back into the context, word for word. Counts only. */
export const ReinjectedEvent = z.object({
  ...envelope,
  type: z.literal("reinjected"),
  /** Of all that was put back, as the sender estimates them. */
  tokens,
  /** Whether the agent's own note was among it. */
  checkpoint: z.boolean(),
  /** Rules of instruction files, and sentences of the person. Missing if the policy asks for neither. */
  rules: count.optional(),
  lines: count.optional(),
  /** Rules and sentences that did not fit. */
  left_out: count.optional(),
});
export type ReinjectedEvent = z.infer<typeof ReinjectedEvent>;

/** A provider refused a prompt that does not fit, and named the size of the window. */
export const PromptRefusedEvent = z.object({
  ...envelope,
  type: z.literal("prompt_refused"),
  model: text(LONGEST.model),
  context_window: tokens.min(1),
  /** Of the refused prompt. */
  prompt_tokens: maybeTokens,
  witness: z.enum(WITNESSES).optional(),
});
export type PromptRefusedEvent = z.infer<typeof PromptRefusedEvent>;

/** A response to a high level. */
export const RESPONSES = ["restart", "compact"] as const;
/** Why a response that was due was not carried out. */
export const WITHHELD_REASONS = [
  "max_restarts",
  "unconfirmed",
  "no_gain",
  "no_summary",
  "critical_only",
] as const;

/** Something was due and was not done: the level stays where it is. */
export const WithheldEvent = z.object({
  ...envelope,
  type: z.literal("withheld"),
  response: z.enum(RESPONSES),
  reason: z.enum(WITHHELD_REASONS),
  context_tokens: tokens,
});

export const RestartedEvent = z.object({
  ...envelope,
  type: z.literal("restarted"),
  number: count,
  previous_turns: count,
  carryover_turns: count,
  reason: prose(500),
});

export const SubtickEvent = z.object({
  ...envelope,
  type: z.literal("subtick"),
  loop: text(128),
  tick: count,
  sub: count,
  tokens_before: tokens,
  handoff_tokens: tokens,
  reason: prose(500),
  visible: z.boolean(),
});

export const SplitRequestedEvent = z.object({
  ...envelope,
  type: z.literal("split_requested"),
  phase: text(128),
  reason: prose(2_000),
  sub_phases: z
    .array(
      z.object({ id: text(64), name: prose(200), scope: prose(2_000), issues: z.array(prose(500)).max(256) }),
    )
    .min(1)
    .max(256),
});

export const SplitResolvedEvent = z.object({
  ...envelope,
  type: z.literal("split_resolved"),
  phase: text(128),
  status: text(64),
  sub_phases: z
    .array(
      z.object({
        id: text(64),
        status: text(64),
        score: z.number().nullish(),
        summary: prose(2_000).optional(),
      }),
    )
    .max(256),
});

export const PhaseEvent = z.object({
  ...envelope,
  type: z.literal("phase"),
  phase: text(128),
  status: text(64),
  score: z.number().nullish(),
  parent_phase: text(128).optional(),
});

export const HarnessEvent = z.object({
  ...envelope,
  session: text(LONGEST.session).optional(),
  type: z.literal("harness"),
  status: z.enum(["hello", "bye"]),
  name: text(128),
  version: text(64).optional(),
  capabilities: z.array(text(64)).max(128).default([]),
});
export type HarnessEvent = z.infer<typeof HarnessEvent>;

export const SESSION_KINDS = ["conversation", "loop", "phase", "agent"] as const;
export const SessionEvent = z.object({
  ...envelope,
  type: z.literal("session"),
  status: z.enum(["started", "ended"]),
  kind: z.enum(SESSION_KINDS).optional(),
  title: prose(300).optional(),
  reason: prose(500).optional(),
});

/** What became of a policy at a harness. */
export const POLICY_ACK_STATUSES = ["received", "written", "applied", "overridden", "rejected"] as const;
/** Why a harness rejected a policy, or runs with other values than it asks for. */
export const POLICY_ACK_CODES = [
  "wrong_hash",
  "invalid",
  "not_allowed",
  "out_of_bounds",
  "unsupported",
  "clamped",
  "local_override",
  "apply_failed",
  "unhealthy",
  "drifted",
] as const;

/** Most characters of the JSON of an acknowledged policy. */
const EFFECTIVE_CHARACTERS = 16_384;
const settingValue = z.union([
  z.string().max(200),
  z.number(),
  z.boolean(),
  z.null(),
  z.record(z.string().max(64), z.union([z.string().max(200), z.number(), z.boolean(), z.null()])),
]);

/**
 * A harness says what became of a policy. `applied` runs it as it is, `overridden` runs it with the differences it names, and
 * `rejected` keeps the policy of before. `written` has it in its settings and has not shown that it uses them: with `effective`, a
 * session began since. From the event's time on, its agents are judged by what is in force.
 */
export const PolicyAckEvent = z.object({
  ...envelope,
  session: text(LONGEST.session).optional(),
  type: z.literal("policy_ack"),
  generation: count,
  hash: z.string().regex(/^[0-9a-f]{64}$/, "must be the hash of the policy: 64 hexadecimal digits"),
  status: z.enum(POLICY_ACK_STATUSES),
  code: z.enum(POLICY_ACK_CODES).optional(),
  message: prose(500).optional(),
  /** The settings in force, if they are not those of the policy, and of `written` those that sessions should run with. */
  effective: PolicySettings.refine(
    (settings) => JSON.stringify(settings).length <= EFFECTIVE_CHARACTERS,
    `must have at most ${EFFECTIVE_CHARACTERS} characters`,
  ).optional(),
  differences: z
    .array(
      z.object({
        /** Such as `thresholds.ceiling`. */
        path: text(128),
        code: z.enum(POLICY_ACK_CODES),
        wanted: settingValue.optional(),
        effective: settingValue.optional(),
        /** What wins over the policy, such as the name of an environment variable. */
        by: text(200).optional(),
      }),
    )
    .max(64)
    .optional(),
});
export type PolicyAckEvent = z.infer<typeof PolicyAckEvent>;

/** Most minutes of a quota's window: a leap year. */
const LONGEST_QUOTA_MINUTES = 366 * 24 * 60;

/**
 * How much of one limit of an account is used, as its provider says. It belongs to an account and to no session: a `session` is
 * ignored.
 */
export const QuotaEvent = z.object({
  ...envelope,
  session: text(LONGEST.session).optional(),
  type: z.literal("quota"),
  /** Who sets the limit, such as `anthropic`. */
  provider: text(LONGEST.quota),
  /** The provider's name of the limit, such as `five_hour`. */
  limit: text(LONGEST.quota),
  /** Length of the window of the limit. */
  window_minutes: z.number().int().min(1).max(LONGEST_QUOTA_MINUTES).optional(),
  /** Above 100 if the provider allows more. */
  used_percent: z.number().min(0).max(LARGEST.quotaPercent),
  /** When the provider begins to count from zero, by the provider's clock. */
  resets_at: instant,
  /** A hash of the id of the account: the same on all machines, and no id itself. */
  account: z
    .string()
    .regex(/^[0-9a-f]{32}$/, "must be a hash: 32 hexadecimal digits")
    .optional(),
});
export type QuotaEvent = z.infer<typeof QuotaEvent>;

export const PlimsollEvent = z.discriminatedUnion("type", [
  TurnEvent,
  ToolResultEvent,
  ThresholdCrossedEvent,
  MaskedEvent,
  CompactedEvent,
  ClearedEvent,
  WindDownEvent,
  OutputCutEvent,
  CheckpointEvent,
  ReinjectedEvent,
  PromptRefusedEvent,
  WithheldEvent,
  RestartedEvent,
  SubtickEvent,
  SplitRequestedEvent,
  SplitResolvedEvent,
  PhaseEvent,
  HarnessEvent,
  SessionEvent,
  PolicyAckEvent,
  QuotaEvent,
]);
export type PlimsollEvent = z.infer<typeof PlimsollEvent>;
/** What a sender writes, before defaults and times are filled in. */
export type PlimsollEventInput = z.input<typeof PlimsollEvent>;
export type EventType = PlimsollEvent["type"];
/** Every event that is neither a turn, nor a part of one, nor a reading of a quota: it happened to an agent or a harness. */
export type MarkEvent = Exclude<PlimsollEvent, TurnEvent | ToolResultEvent | QuotaEvent>;

/** Why one event of a request was not stored. */
export const REJECTION_CODES = [
  "in_the_future",
  "past_retention",
  "invalid_json",
  "too_large",
  "not_an_object",
  "unknown_type",
  "missing_field",
  "invalid_field",
  "forbidden_type",
] as const;
export type RejectionCode = (typeof REJECTION_CODES)[number];

/** The answer to `POST /api/v1/events`, given only after the commit. */
export const IngestAnswer = z.object({
  accepted: z.number().int(),
  /** Repeats that added nothing. Only in answers to `Prefer: wait`. */
  duplicates: z.number().int().optional(),
  rejected: z.array(
    z.object({
      index: z.number().int(),
      id: z.string().optional(),
      code: z.enum(REJECTION_CODES),
      path: z.string(),
      message: z.string(),
    }),
  ),
});
export type IngestAnswer = z.infer<typeof IngestAnswer>;
