import { z } from "zod";
import { LONGEST } from "../events/event-rules.ts";
import { SESSION_KINDS } from "../events/events.ts";
import { OUTCOME_SIGNALS } from "../terms.ts";
import { AuditAction, AuditTopic } from "./audit.ts";
import { callText, cursorText, rowId } from "./parameters.ts";
import { BREAKDOWN_MEASURES, Scope, SeriesGroup, SeriesMetric, SessionStatus } from "./read.ts";
import { FallReason, SessionSort } from "./read-session.ts";
import { SessionTagName } from "./session-notes.ts";

/** Room for a bucket or a time zone beyond the last time that can be asked for, within PostgreSQL's and our year 9999. */
const END_OF_TIME = Date.UTC(9999, 0);

/** Inputs of the metrics API, shared by tRPC, REST, the dashboard and the command line. */
const time = z.iso
  .datetime({ offset: true })
  .refine((value) => Date.parse(value) >= 0 && Date.parse(value) < END_OF_TIME, "must be in 1970 to 9998");
const named = z.string().trim().min(1);
/** Never empty: that would be a harness nobody has, and in the rollups it stands for all of them. */
const harness = callText(LONGEST.harness, z.string().min(1)).optional();
const id = rowId;
/** Where sessions run and whose they are, as their newest events say. */
const origin = {
  /** Id of a person. */
  person: id.optional(),
  machine: callText(LONGEST.machine, z.string().min(1)).optional(),
  repository: callText(LONGEST.repository, z.string().min(1)).optional(),
  branch: callText(LONGEST.branch, z.string().min(1)).optional(),
};

export const StatusQuery = z.object({ from: time, to: time, harness });
export type StatusQuery = z.infer<typeof StatusQuery>;

/** With a session, its falls. */
export const FallsQuery = StatusQuery.extend({ session: id.optional() });
export type FallsQuery = z.infer<typeof FallsQuery>;

/** With a session, what the windows of its agents hold. */
export const ContentsQuery = StatusQuery.extend({ session: id.optional() });
export type ContentsQuery = z.infer<typeof ContentsQuery>;

export const QualityQuery = StatusQuery.extend({ signal: z.enum(OUTCOME_SIGNALS).default("failed") });
export type QualityQuery = z.infer<typeof QualityQuery>;

/** Days that a digest may cover. */
const MOST_DIGEST_DAYS = 31;
export const DigestQuery = StatusQuery.refine(
  ({ from, to }) => Date.parse(to) - Date.parse(from) <= MOST_DIGEST_DAYS * 86_400_000,
  { path: ["to"], error: `is more than ${MOST_DIGEST_DAYS} days after the start of the range` },
);
export type DigestQuery = z.infer<typeof DigestQuery>;

export const BreakdownQuery = StatusQuery.extend({ by: z.enum(BREAKDOWN_MEASURES) });
export type BreakdownQuery = z.infer<typeof BreakdownQuery>;

export const FleetQuery = z.object({
  harness,
  ...origin,
  limit: z.coerce.number().int().min(1).max(500).default(200),
});
export type FleetQuery = z.infer<typeof FleetQuery>;

/** `at` is compared with what was before it, within the range. */
export const BeforeAfterQuery = StatusQuery.extend({ at: time });
export type BeforeAfterQuery = z.infer<typeof BeforeAfterQuery>;

export const ExtentQuery = z.object({ harness });
export type ExtentQuery = z.infer<typeof ExtentQuery>;

export const HarnessLinesQuery = z.object({ harness });
export type HarnessLinesQuery = z.infer<typeof HarnessLinesQuery>;

/** Sessions of which the rows of a fleet are asked for anew. */
export const FLEET_PART_SESSIONS = 20;
export const FleetPartQuery = z.object({
  harness,
  ...origin,
  sessions: z.array(id).min(1).max(FLEET_PART_SESSIONS),
});
export type FleetPartQuery = z.infer<typeof FleetPartQuery>;

/** Which sessions: those active in the range that match all filters. */
export const SessionFilter = z.object({
  from: time,
  to: time,
  harness,
  ...origin,
  /** Of the main agent. */
  model: callText(LONGEST.model, z.string().min(1)).optional(),
  kind: z.enum(SESSION_KINDS).optional(),
  status: SessionStatus.optional(),
  /** With a fall for this reason in the range. */
  reason: FallReason.optional(),
  /** With a rise above the warning threshold in the range. */
  warned: z.literal("1").optional(),
  tag: SessionTagName.optional(),
  /** Part of a title, a session id, a harness or a model. */
  q: callText(200).optional(),
});
export type SessionFilter = z.infer<typeof SessionFilter>;

export const SessionsQuery = SessionFilter.extend({
  sort: SessionSort.default("last_at"),
  order: z.enum(["asc", "desc"]).default("desc"),
  cursor: cursorText,
  limit: z.coerce.number().int().min(1).max(500).default(100),
});
export type SessionsQuery = z.infer<typeof SessionsQuery>;

/** With a repository, also its branches. */
export const SessionValuesQuery = z.object({ repository: origin.repository });
export type SessionValuesQuery = z.infer<typeof SessionValuesQuery>;

export const SessionQuery = z.object({ id });
export type SessionQuery = z.infer<typeof SessionQuery>;

export const TurnsQuery = z.object({
  id,
  /** One agent's turns; all agents of the session when absent. */
  agent_id: id.optional(),
  /** The `key` of a turn of that agent. The list begins a few turns after it; without it, at the newest turn. */
  turn: z
    .string()
    .regex(/^-?\d{1,19}$/)
    .optional(),
  cursor: cursorText,
  limit: z.coerce.number().int().min(1).max(1000).default(200),
});
export type TurnsQuery = z.infer<typeof TurnsQuery>;

export const SeriesQuery = z.object({
  metric: SeriesMetric,
  from: time,
  to: time,
  /** Seconds a bucket; chosen to give about 120 buckets when absent, and never more than 1,000. */
  step: z.coerce.number().int().min(60).max(2_678_400).optional(),
  group_by: SeriesGroup.optional(),
  /** Groups that are named; all others are one group. */
  top: z.coerce.number().int().min(1).max(50).default(10),
  harness,
});
export type SeriesQuery = z.infer<typeof SeriesQuery>;

export const CreateKeyInput = z.object({
  name: callText(100, named),
  scopes: z.array(Scope).min(1),
  /** Required with the scope `self`, and only with it: an instance such as `support@web-1`, or `support` for all its instances. */
  harness: callText(LONGEST.harness, named).nullish(),
  /** In the future, at most ten years ahead; a key without it never expires. */
  expires_at: time.nullish(),
  /** Belongs to nobody, so it does not end with who made it. Needs the role admin. */
  service: z.boolean().optional(),
});
export type CreateKeyInput = z.infer<typeof CreateKeyInput>;

export const RevokeKeyInput = z.object({ id });

/** How long a replaced key goes on working, in milliseconds. */
export const GRACE_MS = { now: 0, "1h": 3_600_000, "24h": 86_400_000, "7d": 7 * 86_400_000 } as const;
export type Grace = keyof typeof GRACE_MS;
export const GRACES = Object.keys(GRACE_MS) as [Grace, ...Grace[]];
export const RotateKeyInput = z.object({ id, grace: z.enum(GRACES).default("24h") });
export const SetModelWindowInput = z.object({
  model: callText(LONGEST.model, named),
  tokens: z.number().int().min(1).max(2_147_483_647),
});
export const RemoveModelWindowInput = z.object({ model: callText(LONGEST.model, z.string().min(1)) });
export const CountsQuery = z.object({ from: time, to: time });

export const AuditQuery = z.object({
  action: AuditAction.optional(),
  topic: AuditTopic.optional(),
  from: time.optional(),
  to: time.optional(),
  cursor: cursorText,
  limit: z.coerce.number().int().min(1).max(200).default(50),
});
export type AuditQuery = z.infer<typeof AuditQuery>;
