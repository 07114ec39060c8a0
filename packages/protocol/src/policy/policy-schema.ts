import { z } from "zod";
import { ThresholdValue } from "./thresholds.ts";

const count = z.number().int().nonnegative();
const share = z.number().min(0).max(1);

/**
 * The settings that a policy may hold. Every field may be missing: a layer sets what it changes. Fields that this version does
 * not know are kept, because a newer harness may.
 */
export const PolicySettings = z.looseObject({
  thresholds: z
    .looseObject({
      warning: ThresholdValue.optional(),
      ceiling: ThresholdValue.optional(),
      soft: ThresholdValue.optional(),
      hard: ThresholdValue.optional(),
      reserve: ThresholdValue.optional(),
    })
    .optional(),
  /** `enforce` acts; `warn_only` reports crossings and never changes a context. */
  enforcement: z.enum(["enforce", "warn_only"]).optional(),
  /** Of the window, that one tick of a loop may use. */
  loop: z.looseObject({ max_context_pct: z.number().gt(0).max(100).optional() }).optional(),
  masking: z
    .looseObject({
      enabled: z.boolean().optional(),
      keep_turns: count.optional(),
      /** Newest tool output that is never masked, in tokens. */
      keep_tokens: count.optional(),
      /** Names of tools whose results are never masked. */
      exclude: z.array(z.string().min(1).max(128)).max(256).optional(),
      /** Least gain of a batch, as a fraction of its line. */
      min_gain: share.optional(),
      inputs: z.boolean().optional(),
    })
    .optional(),
  compaction: z
    .looseObject({
      mode: z.enum(["off", "compact", "fresh_session"]).optional(),
      keep_turns: count.optional(),
      /** Most of the user's words kept word for word, as a fraction of the line. */
      keep_user_words: share.optional(),
      min_gain: share.optional(),
      /** Whether the user's rules are put back into the context after a compaction, word for word. */
      reinject: z.boolean().optional(),
    })
    .optional(),
  pace: z.looseObject({ room_turns: count.optional(), min_turns: count.optional() }).optional(),
  restart: z
    .looseObject({
      mode: z.enum(["auto", "ask", "off"]).optional(),
      grace_turns: count.optional(),
      carryover_turns: count.optional(),
      /** `null`: no limit. */
      max: count.nullable().optional(),
    })
    .optional(),
  split: z
    .looseObject({
      issues: count.optional(),
      files: count.optional(),
      complex_tasks: count.optional(),
      reads: count.optional(),
    })
    .optional(),
  notifications: z
    .looseObject({
      /** Whether to notify the user when a conversation is compacted. */
      compacting: z.boolean().optional(),
      /** Whether a loop shows where one context ends and the next begins. */
      boundary: z.enum(["silent", "visible"]).optional(),
    })
    .optional(),
  overflow: z.enum(["cut", "refuse", "send_anyway"]).optional(),
  bridge: z
    .looseObject({
      /** What `plimsoll bridge` does when somebody edits a setting that it wrote. `report` is the default. */
      drift: z.enum(["put_back", "report"]).optional(),
    })
    .optional(),
});
export type PolicySettings = z.infer<typeof PolicySettings>;

/** The agents that a layer applies to. A missing field matches all. */
export const PolicyScope = z.strictObject({
  /** The part of a harness' name before `@`, such as `phantom`. */
  family: z.string().min(1).max(128).optional(),
  /** A model's name in which `*` matches any characters, such as `claude-opus-*`. */
  model: z.string().min(1).max(200).optional(),
  /** One harness instance, such as `phantom@vm-3`. */
  harness: z.string().min(1).max(128).optional(),
});
export type PolicyScope = z.infer<typeof PolicyScope>;

/** The most layers of one policy. */
export const MOST_LAYERS = 200;

/** A whole policy of a project: what applies to all, and the layers for some. */
export const PolicyBody = z.looseObject({
  settings: PolicySettings.default({}),
  layers: z
    .array(z.looseObject({ scope: PolicyScope, settings: PolicySettings }))
    .max(MOST_LAYERS)
    .default([]),
});
export type PolicyBody = z.infer<typeof PolicyBody>;
