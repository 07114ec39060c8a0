import { z } from "zod";
import { POLICY_ACK_CODES } from "../events/events.ts";
import { HALT_REASONS, ROLLOUT_ACTIONS, ROLLOUT_STATES, ROLLOUT_WAITS } from "../policy/rollout.ts";
import { rowNumber } from "./parameters.ts";

const time = z.iso.datetime({ offset: true });
const count = z.number().int().nonnegative();
const EventRateView = z.object({ events: count, turns: count });
const RateChangeView = z.object({ before: EventRateView, since: EventRateView });

/** The newest rollout of a policy in stages. */
export const RolloutView = z.object({
  generation: count,
  /** The newest generation before it that all harnesses were offered; null if there is none. */
  previous: count.nullable(),
  strategy: z.enum(["canary", "linear"]),
  state: z.enum(ROLLOUT_STATES),
  /** Why it was halted. */
  halt_reason: z.enum(HALT_REASONS).nullable(),
  /** Index in `stages`. */
  stage: count,
  /** Since when the stage lasts. */
  since: time,
  /** To whom each stage offers the version: a share of the connected harnesses (0 to 1), and some by name. */
  stages: z.array(z.object({ share: z.number(), harnesses: z.array(z.string()) })),
  /** Seconds for which a stage lasts at least. They pass only while its harnesses can apply the version. */
  bake_s: count,
  /** What the next stage waits for; null unless the rollout is running. */
  waits_for: z.enum(ROLLOUT_WAITS).nullable(),
  /** When the stage has lasted long enough if its time goes on passing; null while it does not. */
  next_at: time.nullable(),
  ended_at: time.nullable(),
  /** Instances heard from lately, how many of them are offered the version, and how many of these run it. */
  connected: count,
  offered: count,
  applied: count,
  /** Of `offered`, those that the stage was the first to offer it to: the next stage waits for one of them. */
  own: z.object({ connected: count, applied: count, rejected: count }),
  /** How many more the action `next_set` would offer it to; 0 if all connected ones are offered it, or the rollout is over. */
  next_set: count,
  /** Those that rejected it; at most 20. */
  rejected: z.array(
    z.object({
      instance: z.string(),
      code: z.enum(POLICY_ACK_CODES).nullable(),
      message: z.string().nullable(),
    }),
  ),
  /** Of the same harnesses before and since they applied it. */
  restarts: RateChangeView,
  /** Of thresholds that it leaves as they were. */
  crossings: RateChangeView,
});
export type RolloutView = z.infer<typeof RolloutView>;

export const RolloutAnswer = z.object({ rollout: RolloutView.nullable() });
export type RolloutAnswer = z.infer<typeof RolloutAnswer>;

export const ChangeRolloutCall = z.object({
  /** Of the rollout that was seen. */
  generation: rowNumber,
  /** The stage that was seen, so that a rollout that went on meanwhile is not advanced twice. */
  stage: rowNumber,
  action: z.enum(ROLLOUT_ACTIONS),
});
export type ChangeRolloutCall = z.infer<typeof ChangeRolloutCall>;
