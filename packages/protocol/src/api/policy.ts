import { z } from "zod";
import { POLICY_ACK_CODES, PolicyAckEvent } from "../events/events.ts";
import { PolicyBody, PolicySettings } from "../policy/policy-schema.ts";
import { RolloutPlan } from "../policy/rollout.ts";
import { EFFECT_VERDICTS } from "../terms.ts";
import { callText, rowNumber, rowNumberText } from "./parameters.ts";

/** Header of every answer to events and policies: the project's newest generation. */
export const GENERATION_HEADER = "Plimsoll-Policy-Generation";

/** The query of `GET /api/v1/policy`. */
export const PolicyQuery = z.object({
  /** The harness instance, such as `phantom@vm-3`. */
  harness: callText(128, z.string().min(1)),
  /** Without a model, layers for models do not apply. */
  model: callText(200, z.string().min(1)).optional(),
});
export type PolicyQuery = z.infer<typeof PolicyQuery>;

/**
 * The policy that a harness should run. Its ETag is the hash in quotes. A field that is missing is not set by the policy: the
 * harness keeps its own value. Generation 0 means that the project has no policy.
 */
export const PolicyAnswer = z.object({
  generation: z.number().int().nonnegative(),
  /** The sha256 of the canonical JSON (RFC 8785) of `settings`, in hexadecimal digits. */
  hash: z.string(),
  settings: PolicySettings,
});
export type PolicyAnswer = z.infer<typeof PolicyAnswer>;

/** The newest version of a project's whole policy. Its ETag is the hash in quotes. */
export const WholePolicy = z.object({
  generation: z.number().int().nonnegative(),
  /** The sha256 of the canonical JSON of `policy`, in hexadecimal digits. */
  hash: z.string(),
  policy: PolicyBody,
  /** The YAML that it was written as; null without comments. */
  text: z.string().nullable(),
});
export type WholePolicy = z.infer<typeof WholePolicy>;

/** From when on a policy counts: `history` judges what is recorded by it as well. */
export const POLICY_STARTS = ["now", "history"] as const;

/** The body of `PUT /api/v1/policy`. The header `If-Match` names the generation that was changed. */
export const SavePolicyInput = z.object({
  /** The policy, or its YAML as a text, whose comments are kept. Checked by `readPolicy`, which names every mistake. */
  policy: z.unknown(),
  reason: callText(500, z.string().trim().min(3, "say why, in a few words")),
  from: z.enum(POLICY_STARTS).optional(),
  /** To all harnesses at once by default. */
  rollout: RolloutPlan.optional(),
});
export type SavePolicyInput = z.infer<typeof SavePolicyInput>;

const time = z.iso.datetime({ offset: true });

/** A saved version, without its content. */
export const PolicyVersionView = z.object({
  generation: z.number().int(),
  hash: z.string(),
  reason: z.string(),
  /** `browser`, `local` (the command line), `key` or `server`. */
  actor: z.string(),
  /** Of the key, or the browser such as `Firefox on Linux`. */
  actor_name: z.string().nullable(),
  /** The generation that it repeats. */
  restores: z.number().int().nullable(),
  created_at: time,
  /** From when on it counts; earlier than `created_at` if it was applied to history. */
  from: time,
});
export type PolicyVersionView = z.infer<typeof PolicyVersionView>;

export const PolicyVersionsQuery = z.object({
  limit: z.coerce.number().int().min(1).max(100).default(20),
  /** `next_cursor` of the page before. */
  cursor: rowNumberText.min(1).optional(),
});
export type PolicyVersionsQuery = z.infer<typeof PolicyVersionsQuery>;

/** Newest first. */
export const PolicyVersionPage = z.object({
  items: z.array(PolicyVersionView),
  next_cursor: z.number().int().nullable(),
});
export type PolicyVersionPage = z.infer<typeof PolicyVersionPage>;

export const PolicyGenerationQuery = z.object({ generation: rowNumberText });

/** A saved version with its content. */
export const PolicyVersionDetail = PolicyVersionView.extend({
  policy: PolicyBody,
  text: WholePolicy.shape.text,
});
export type PolicyVersionDetail = z.infer<typeof PolicyVersionDetail>;

/** A change of a rate of failed tool calls, per call, and the ends of its interval of 95 %. */
const RateChangeView = z.object({ change: z.number(), low: z.number(), high: z.number() });
export type RateChangeView = z.infer<typeof RateChangeView>;
/** Sessions, and their failed tool calls per call; null without calls. */
const RateOfSessionsView = z.object({ sessions: z.number().int(), rate: z.number().nullable() });

const PolicyEffectView = z.object({
  /** The kind of harness, such as `claude-code`. */
  harness: z.string(),
  model: z.string(),
  /** Tokens; null for none, or for a share of a window of unknown size. */
  ceiling_before: z.number().int().nullable(),
  ceiling: z.number().int(),
  /** What the sessions before let expect; null if no rise was certain at that level. */
  estimate: RateChangeView.nullable(),
  before: RateOfSessionsView,
  after: RateOfSessionsView,
  /** Null without calls on both sides. */
  measured: RateChangeView.nullable(),
  verdict: z.enum(EFFECT_VERDICTS),
});
export type PolicyEffectView = z.infer<typeof PolicyEffectView>;

/** What the latest change of ceilings did to failed tool calls, by kind of harness and model. */
export const PolicyEffects = z.object({
  /** The version that changed them; null if there is none of the last 90 days. */
  generation: z.number().int().nullable(),
  /** The one that all harnesses were offered before; null if there is none. */
  before: z.number().int().nullable(),
  /** Since when all harnesses are offered it. */
  since: z.string().nullable(),
  /** Two weeks later. */
  judged_from: z.string().nullable(),
  items: z.array(PolicyEffectView),
});
export type PolicyEffects = z.infer<typeof PolicyEffects>;

export const SavePolicyCall = SavePolicyInput.extend({
  /** The newest generation that was seen; 0 if there was no policy. */
  expected: rowNumber,
});

export const RollbackPolicyCall = z.object({
  /** Whose content is saved again, as a new generation. */
  generation: rowNumber,
  expected: rowNumber,
  reason: SavePolicyInput.shape.reason,
});

/** Agents whose recorded turns are still to be judged again, such as by a policy for history. Zero once that is done. */
export const RejudgingView = z.object({ agents_left: z.number().int().nonnegative() });
export type RejudgingView = z.infer<typeof RejudgingView>;

/**
 * How far a harness is with the policy that it is offered. `mismatched`: it acknowledged this generation with the hash of other
 * settings than were saved.
 */
export const CONVERGENCE_STATES = [
  "no_policy",
  "unmanaged",
  "waiting",
  "received",
  "written",
  "applied",
  "overridden",
  "drifted",
  "rejected",
  "mismatched",
] as const;
export type ConvergenceState = (typeof CONVERGENCE_STATES)[number];

export const PolicyHarnessView = z.object({
  instance: z.string(),
  name: z.string().nullable(),
  version: z.string().nullable(),
  /** Whether it was heard from lately. */
  online: z.boolean(),
  last_at: time,
  /** What it is offered. */
  desired: z.object({ generation: z.number().int(), hash: z.string() }),
  /** `clock_off`: what it sends about policies is refused, or cannot be true, because of its clock. */
  state: z.enum([...CONVERGENCE_STATES, "clock_off"]),
  /** What is wrong with its clock; null unless its state is `clock_off`. */
  clock: z.string().nullable(),
  /** What it said last of a policy. */
  said: z
    .object({
      generation: z.number().int(),
      at: time,
      code: z.enum(POLICY_ACK_CODES).nullable(),
      message: z.string().nullable(),
      differences: PolicyAckEvent.shape.differences.unwrap(),
    })
    .nullable(),
  /** The generation that it runs; null if it never acknowledged one. */
  running: z.number().int().nullable(),
  /** Set if it compacts elsewhere than at the line that it acknowledged: how often, and where as a share of that line. */
  not_effective: z.object({ compactions: z.number().int(), median: z.number() }).nullable(),
});
export type PolicyHarnessView = z.infer<typeof PolicyHarnessView>;

export const PolicyHarnessList = z.object({
  generation: z.number().int(),
  harnesses: z.array(PolicyHarnessView),
  /** Instances beyond those listed. */
  more: z.number().int(),
  /** Instances heard from lately: of these, a rollout offers a version to a share. */
  connected: z.number().int(),
});
export type PolicyHarnessList = z.infer<typeof PolicyHarnessList>;
