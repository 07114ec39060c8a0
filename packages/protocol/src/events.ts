import { z } from "zod";

/** Limits of one request to `POST /api/v1/events`. Sizes in bytes. */
export const LIMITS = {
  events: 10_000,
  compressedBytes: 4 * 1024 * 1024,
  decompressedBytes: 32 * 1024 * 1024,
} as const;

const EARLIEST = Date.UTC(2000, 0, 1);
const LATEST = Date.UTC(2100, 0, 1);
const RFC3339 = /^(\d{4})-(\d{2})-(\d{2})[Tt ]\d{2}:\d{2}:\d{2}(\.\d+)?([Zz]|[+-]\d{2}:?\d{2})$/;

const HALF_CHARACTER = /\p{Cs}/u;
const HALF_CHARACTERS = /\p{Cs}/gu;

/** PostgreSQL text holds no NUL and no half of a surrogate pair: refused here, where the sender can be told. */
const text = (max: number) =>
  z
    .string()
    .min(1)
    .max(max)
    .refine((value) => !value.includes("\u0000"), "must not contain a NUL character")
    .refine((value) => !HALF_CHARACTER.test(value), "must not contain half of a surrogate pair");

/** Words for people: cut to length and cleaned of what cannot be stored, rather than refused. */
const prose = (max: number) =>
  z.string().transform((value) => value.slice(0, max).replaceAll("\u0000", "").replace(HALF_CHARACTERS, ""));

/** A count of tokens. The prompt's three parts are added up, and their sum must fit PostgreSQL's integer. */
const tokens = z.number().int().min(0).max(700_000_000);
/** A missing count is unknown, never zero; `null` says the same as leaving it out. */
const maybeTokens = tokens.nullish().transform((value) => value ?? undefined);
const count = z.number().int().min(0).max(2_147_483_647);

const NOT_AN_INSTANT = "must be RFC 3339 (2026-11-20T10:00:00Z) or epoch milliseconds";

function parseRfc3339(value: string): number {
  const parts = RFC3339.exec(value);
  if (parts === null) return Number.NaN;
  // Date.parse reads 30 February as 2 March.
  const daysInMonth = new Date(Date.UTC(Number(parts[1]), Number(parts[2]), 0)).getUTCDate();
  return Number(parts[3]) > daysInMonth ? Number.NaN : Date.parse(value);
}

/** RFC 3339 or epoch milliseconds; becomes epoch milliseconds. */
export const instant = z
  .union([z.number(), z.string()], { error: NOT_AN_INSTANT })
  .transform((value, context) => {
    const ms = typeof value === "number" ? Math.round(value) : parseRfc3339(value);
    if (Number.isNaN(ms)) {
      context.addIssue({ code: "custom", message: NOT_AN_INSTANT });
      return z.NEVER;
    }
    if (ms < EARLIEST || ms > LATEST) {
      const seconds = typeof value === "number" && value * 1000 >= EARLIEST && value * 1000 <= LATEST;
      context.addIssue({
        code: "custom",
        message: seconds
          ? "looks like epoch seconds: send milliseconds"
          : "must lie between the years 2000 and 2100",
      });
      return z.NEVER;
    }
    return ms;
  })
  .pipe(z.number());

const envelope = {
  id: text(128),
  at: instant,
  harness: text(128),
  session: text(256),
  agent: text(128).default("main"),
  parent_agent: text(128).optional(),
  window: z.number().int().min(0).max(1_000_000).optional(),
};

/** Whether `input_tokens` already includes the cached tokens. */
export const Basis = z.enum(["inclusive", "exclusive"]);
export type Basis = z.infer<typeof Basis>;

export const Usage = z.object({
  input_tokens: maybeTokens,
  cache_read_tokens: maybeTokens,
  cache_write_tokens: maybeTokens,
  output_tokens: maybeTokens,
  reasoning_tokens: maybeTokens,
  basis: Basis.optional(),
});
export type Usage = z.infer<typeof Usage>;

export const COMPOSITION_PARTS = ["system", "tools", "memory", "history", "tool_output", "other"] as const;
export const Composition = z.object({
  system: maybeTokens,
  tools: maybeTokens,
  memory: maybeTokens,
  history: maybeTokens,
  tool_output: maybeTokens,
  other: maybeTokens,
});
export type Composition = z.infer<typeof Composition>;

export const TurnEvent = z.object({
  ...envelope,
  type: z.literal("turn"),
  model: text(200),
  seq: z.number().int().min(0).max(2_147_483_647).optional(),
  usage: Usage,
  context_window: tokens.min(1).optional(),
  estimated: z.boolean().optional(),
  composition: Composition.optional(),
  duration_ms: z.number().min(0).max(2_147_483_647).transform(Math.round).optional(),
  cost_usd: z.number().min(0).max(2_000).optional(),
  purpose: z.enum(["compaction"]).optional(),
});
export type TurnEvent = z.infer<typeof TurnEvent>;

export const ThresholdCrossedEvent = z.object({
  ...envelope,
  type: z.literal("threshold_crossed"),
  threshold: text(64),
  direction: z.enum(["up", "down"]),
  threshold_tokens: tokens,
  context_tokens: tokens,
});

export const MaskedEvent = z.object({
  ...envelope,
  type: z.literal("masked"),
  observations: count,
  total_masked: count.optional(),
  tokens_before: maybeTokens,
  tokens_after: maybeTokens,
  tools: z.array(text(128)).max(256).optional(),
});

export const CompactedEvent = z.object({
  ...envelope,
  type: z.literal("compacted"),
  trigger: z.enum(["auto", "manual", "proactive"]),
  tokens_before: maybeTokens,
  tokens_after: maybeTokens,
  sections: count.optional(),
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
  session: text(256).optional(),
  type: z.literal("harness"),
  status: z.enum(["hello", "bye"]),
  name: text(128),
  version: text(64).optional(),
  capabilities: z.array(text(64)).max(128).default([]),
});

export const SESSION_KINDS = ["conversation", "loop", "phase", "agent"] as const;
export const SessionEvent = z.object({
  ...envelope,
  type: z.literal("session"),
  status: z.enum(["started", "ended"]),
  kind: z.enum(SESSION_KINDS).optional(),
  title: prose(300).optional(),
  reason: prose(500).optional(),
});

export const PlimsollEvent = z.discriminatedUnion("type", [
  TurnEvent,
  ThresholdCrossedEvent,
  MaskedEvent,
  CompactedEvent,
  ClearedEvent,
  WindDownEvent,
  RestartedEvent,
  SubtickEvent,
  SplitRequestedEvent,
  SplitResolvedEvent,
  PhaseEvent,
  HarnessEvent,
  SessionEvent,
]);
export type PlimsollEvent = z.infer<typeof PlimsollEvent>;
/** What a sender writes, before defaults and times are filled in. */
export type PlimsollEventInput = z.input<typeof PlimsollEvent>;
export type EventType = PlimsollEvent["type"];
/** Every event that is not a turn. */
export type MarkEvent = Exclude<PlimsollEvent, TurnEvent>;

const EVENT_SCHEMAS = new Map<string, z.ZodType<PlimsollEvent>>(
  PlimsollEvent.options.map((schema) => [schema.shape.type.value, schema as z.ZodType<PlimsollEvent>]),
);
export const EVENT_TYPES = [...EVENT_SCHEMAS.keys()] as EventType[];

/** Why one event of a request was not stored. */
export const REJECTION_CODES = [
  "invalid_json",
  "not_an_object",
  "unknown_type",
  "missing_field",
  "invalid_field",
] as const;
export type RejectionCode = (typeof REJECTION_CODES)[number];

export interface Rejection {
  code: RejectionCode;
  /** Dotted path of the field at fault, such as `usage.input_tokens`. */
  path: string;
  message: string;
}

export type ParsedEvent = { ok: true; event: PlimsollEvent } | { ok: false; rejection: Rejection };

/** Checks one event by itself. Unknown fields are dropped, an unknown type is refused. */
export function parseEvent(value: unknown): ParsedEvent {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return refused("not_an_object", "", "an event must be a JSON object");
  }
  const type = (value as { type?: unknown }).type;
  if (type === undefined || type === null) {
    return refused("missing_field", "type", `is required: one of ${EVENT_TYPES.join(", ")}`);
  }
  const schema = typeof type === "string" ? EVENT_SCHEMAS.get(type) : undefined;
  if (schema === undefined) {
    const said = typeof type === "string" ? JSON.stringify(type.slice(0, 64)) : `a ${typeof type}`;
    return refused("unknown_type", "type", `${said} is not one of ${EVENT_TYPES.join(", ")}`);
  }
  let parsed = schema.safeParse(value);
  if (parsed.success) return { ok: true, event: parsed.data };
  const present = withoutNulls(value);
  parsed = schema.safeParse(present);
  if (parsed.success) return { ok: true, event: parsed.data };
  const issue = parsed.error.issues[0]!;
  const path = issue.path.map(String).join(".");
  const missing = issue.path.length > 0 && valueAt(present, issue.path) === undefined;
  return missing
    ? refused("missing_field", path, "is required")
    : refused("invalid_field", path, issue.message);
}

/** Many serialisers write `null` for a field that is not there. */
function withoutNulls(event: object): object {
  return Object.fromEntries(Object.entries(event).filter(([, value]) => value !== null));
}

function refused(code: RejectionCode, path: string, message: string): ParsedEvent {
  return { ok: false, rejection: { code, path, message } };
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  let here = value;
  for (const key of path) {
    if (typeof here !== "object" || here === null) return undefined;
    here = (here as Record<PropertyKey, unknown>)[key];
  }
  return here;
}

/** The answer to `POST /api/v1/events`, given only after the commit. */
export const IngestAnswer = z.object({
  accepted: z.number().int(),
  duplicates: z.number().int(),
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
