import { z } from "zod";
import { PolicyBody, PolicySettings } from "../policy/policy-schema.ts";

/** Header of every answer to events and policies: the project's newest generation. */
export const GENERATION_HEADER = "Plimsoll-Policy-Generation";

/** The query of `GET /api/v1/policy`. */
export const PolicyQuery = z.object({
  /** The harness instance, such as `phantom@vm-3`. */
  harness: z.string().min(1).max(128),
  /** Without a model, layers for models do not apply. */
  model: z.string().min(1).max(200).optional(),
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
});
export type WholePolicy = z.infer<typeof WholePolicy>;

/** From when on a policy counts: `history` judges what is recorded by it as well. */
export const POLICY_STARTS = ["now", "history"] as const;

/** The body of `PUT /api/v1/policy`. The header `If-Match` names the generation that was changed. */
export const SavePolicyInput = z.object({
  /** Checked by `readPolicy`, which names every mistake. */
  policy: z.unknown(),
  reason: z.string().trim().min(3, "say why, in a few words").max(500),
  from: z.enum(POLICY_STARTS).optional(),
});
export type SavePolicyInput = z.infer<typeof SavePolicyInput>;
