import { z } from "zod";
import { canonicalJson } from "./canonical-json.ts";
import type { PolicyBody } from "./policy-schema.ts";
import type { RolloutStep } from "./policy-versions.ts";
import { THRESHOLD_NAMES, type ThresholdName } from "./threshold-rules.ts";

/** Seconds in which harnesses are watched before more of them are offered a version. */
const bake = z.number().int().min(1, "wait at least 1 second").max(604_800, "wait at most 7 days");
const ALL_AT_ONCE = "offer it to less than 100 %, or roll it out to all at once";

/** What halts a rollout. */
export const HaltRules = z.object({
  /** Harnesses that reject the version. */
  rejections: z.number().int().min(1).max(1_000).default(1),
  /**
   * More restarts, or more crossings, than this many times what the same harnesses had before, for as many turns; null never halts.
   */
  rise: z.number().min(1.1).max(100).nullable().default(2),
});
export type HaltRules = z.infer<typeof HaltRules>;

const halt = HaltRules.default({ rejections: 1, rise: 2 });

/** How a version reaches the harnesses. Shares are fractions of all harnesses. */
export const RolloutPlan = z.discriminatedUnion("strategy", [
  z.object({ strategy: z.literal("all_at_once") }),
  z
    .object({
      strategy: z.literal("canary"),
      /** 0 if only the named instances try it. */
      share: z.number().min(0).lt(1, ALL_AT_ONCE).default(0.1),
      /** Instances that try it whatever the share. */
      harnesses: z.array(z.string().min(1).max(128)).max(100).default([]),
      bake_s: bake,
      halt,
    })
    .refine((plan) => plan.share > 0 || plan.harnesses.length > 0, {
      path: ["share"],
      message: "name harnesses or offer it to more than 0 %",
    }),
  z.object({
    strategy: z.literal("linear"),
    /** Of the harnesses, added with each step. */
    share: z.number().min(0.01, "add at least 1 % with each step").lt(1, ALL_AT_ONCE),
    bake_s: bake,
    halt,
  }),
]);
export type RolloutPlan = z.infer<typeof RolloutPlan>;
export type StagedPlan = Exclude<RolloutPlan, { strategy: "all_at_once" }>;

/** To whom each stage of a plan offers a version. The last stage is everybody. */
export function stagesOf(plan: StagedPlan): Omit<RolloutStep, "at">[] {
  const everybody = { share: 1, harnesses: [] };
  if (plan.strategy === "canary") return [{ share: plan.share, harnesses: plan.harnesses }, everybody];
  // Counted in thousandths: 1/10 + 2/10 is not 3/10 in floating point.
  const step = Math.round(plan.share * 1_000);
  const stages = Array.from({ length: Math.ceil(1_000 / step) - 1 }, (_, n) => ({
    share: ((n + 1) * step) / 1_000,
    harnesses: [],
  }));
  return [...stages, everybody];
}

/** What a person can do with a rollout. */
export const ROLLOUT_ACTIONS = ["advance", "halt", "resume"] as const;
export type RolloutAction = (typeof ROLLOUT_ACTIONS)[number];

/** `superseded`: a newer version was saved. */
export const ROLLOUT_STATES = ["running", "halted", "finished", "superseded"] as const;
export type RolloutState = (typeof ROLLOUT_STATES)[number];

/** Why a rollout was halted. `asked`: by a person. */
export const HALT_REASONS = ["rejected", "more_restarts", "more_crossings", "asked"] as const;
export type HaltReason = (typeof HALT_REASONS)[number];

/** What a rollout waits for: the time of its stage, or the first harness that applies the version. */
export const ROLLOUT_WAITS = ["bake", "application"] as const;
export type RolloutWait = (typeof ROLLOUT_WAITS)[number];

/** How often something happened in so many turns. */
export interface EventRate {
  events: number;
  turns: number;
}

/** The same harnesses before and since they applied a version. */
export interface RateChange {
  before: EventRate;
  since: EventRate;
}

/** What is known of the harnesses that are offered a version. */
export interface RolloutObservations {
  /** Harnesses that rejected it since the rollout began or was resumed. */
  rejected: number;
  /** Harnesses that run it. */
  applied: number;
  restarts: RateChange;
  /** Of thresholds that the version leaves as they were. */
  crossings: RateChange;
}

export type RolloutDecision =
  | { type: "wait"; for: RolloutWait; until: number }
  | { type: "advance"; to: number; last: boolean }
  | { type: "halt"; reason: Exclude<HaltReason, "asked"> };

/** Thresholds that a version leaves as they were, for all harnesses and models. */
export function unmovedThresholds(before: PolicyBody, after: PolicyBody): ThresholdName[] {
  const placed = ({ settings, layers }: PolicyBody, name: ThresholdName) =>
    canonicalJson([
      settings.thresholds?.[name] ?? null,
      layers.flatMap(({ scope, settings: own }) => {
        const value = own.thresholds?.[name];
        return value === undefined ? [] : [[scope, value]];
      }),
    ]);
  return THRESHOLD_NAMES.filter((name) => placed(before, name) === placed(after, name));
}

/** Turns on both sides of a comparison below which a rise says nothing. */
export const FEWEST_TURNS = 50;
/** Events beyond what was expected below which a rise says nothing. */
export const FEWEST_MORE = 3;

/**
 * What a rollout does next.
 * @param stage index in `stagesOf(plan)`, which began at `since` (epoch ms)
 * @param now epoch ms
 */
export function decideRollout(
  plan: StagedPlan,
  { stage, since }: { stage: number; since: number },
  observed: RolloutObservations,
  now: number,
): RolloutDecision {
  const { rejections, rise } = plan.halt;
  if (observed.rejected >= rejections) return { type: "halt", reason: "rejected" };
  if (rise !== null) {
    if (hasRisen(observed.restarts, rise)) return { type: "halt", reason: "more_restarts" };
    if (hasRisen(observed.crossings, rise)) return { type: "halt", reason: "more_crossings" };
  }
  const until = since + plan.bake_s * 1_000;
  if (now < until) return { type: "wait", for: "bake", until };
  // Time alone proves nothing: a version that nobody has tried stays with the first.
  if (observed.applied === 0) return { type: "wait", for: "application", until };
  const last = stagesOf(plan).length - 1;
  return { type: "advance", to: Math.min(stage + 1, last), last: stage + 1 >= last };
}

/** More than `rise` times as many events as before for as many turns, and not by chance alone. */
function hasRisen({ before, since }: RateChange, rise: number): boolean {
  if (before.turns < FEWEST_TURNS || since.turns < FEWEST_TURNS) return false;
  const expected = (before.events / before.turns) * since.turns;
  return since.events > rise * expected && since.events >= expected + FEWEST_MORE;
}
