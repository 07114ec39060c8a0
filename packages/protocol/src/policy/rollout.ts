import { z } from "zod";
import { callText } from "../api/parameters.ts";
import { canonicalJson } from "./canonical-json.ts";
import type { PolicyBody } from "./policy-schema.ts";
import { harnessesIn, isOffered, type RolloutStep, shareFor } from "./policy-versions.ts";
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
      harnesses: z
        .array(callText(128, z.string().min(1)))
        .max(100)
        .default([]),
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

/** To whom a stage offers a version. */
export type Offer = Omit<RolloutStep, "at">;

/** What a plan asks of each of its stages. The last stage is everybody. */
export function stagesOf(plan: StagedPlan): Offer[] {
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

/** Where a rollout is when it looks for harnesses that try its version. */
export interface OfferPlace {
  generation: number;
  /** Index in `stagesOf(plan)`. */
  stage: number;
  /** To whom the version is offered already; they keep it. */
  before: Offer | undefined;
  /** The harnesses that are connected. */
  live: readonly string[];
}

/** To whom a stage offers a version: its share of the connected harnesses, and at least one more than before. */
export function offerOfStage(plan: StagedPlan, { generation, stage, before, live }: OfferPlace): Offer {
  const { share, harnesses } = stagesOf(plan)[stage]!;
  if (share === 1 || share === 0) return { share, harnesses };
  const ranked = live.filter((harness) => !harnesses.includes(harness));
  const known = before === undefined ? 0 : offeredOf(before, generation, ranked).length;
  const size = Math.min(ranked.length, Math.max(harnessesIn(share, ranked.length), known + 1));
  const reached = shareFor(generation, ranked, size, share);
  return { share: Math.max(reached, before?.share ?? 0), harnesses };
}

/** Harnesses of the next set of a stage, as many as the first had; 0 if all connected ones are offered the version. */
export function nextSetSize(plan: StagedPlan, { generation, stage, before, live }: OfferPlace): number {
  const { share, harnesses } = stagesOf(plan)[stage]!;
  const more = harnessesIn(share, live.length) || harnesses.length;
  const known = before === undefined ? 0 : offeredOf(before, generation, live).length;
  return Math.min(more, live.length - known);
}

/** Offers a version to the next set of a stage as well. */
export function offerOfNextSet(plan: StagedPlan, place: OfferPlace): Offer {
  const { generation, before = { share: 0, harnesses: [] }, live } = place;
  const ranked = live.filter((harness) => !before.harnesses.includes(harness));
  const known = offeredOf(before, generation, ranked).length;
  return {
    ...before,
    share: shareFor(generation, ranked, known + nextSetSize(plan, place), before.share),
  };
}

const offeredOf = (offer: Offer, generation: number, harnesses: readonly string[]) =>
  harnesses.filter((harness) => isOffered(offer, generation, harness));

/** What a person can do with a rollout. `next_set`: offer the version to as many harnesses again in the same stage. */
export const ROLLOUT_ACTIONS = ["advance", "halt", "resume", "next_set"] as const;
export type RolloutAction = (typeof ROLLOUT_ACTIONS)[number];

/** `superseded`: a newer version was saved. */
export const ROLLOUT_STATES = ["running", "halted", "finished", "superseded"] as const;
export type RolloutState = (typeof ROLLOUT_STATES)[number];

/** Why a rollout was halted. `asked`: by a person. */
export const HALT_REASONS = ["rejected", "more_restarts", "more_crossings", "asked"] as const;
export type HaltReason = (typeof HALT_REASONS)[number];

/**
 * What a stage of a rollout waits for. `application`: the first of its harnesses that applies the version; `harness`: one of them that
 * is connected; `next_set`: a person, because each of its harnesses rejected the version.
 */
export const ROLLOUT_WAITS = ["bake", "application", "harness", "next_set"] as const;
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

/** The connected harnesses that a stage was the first to offer the version to. */
export interface StageHarnesses {
  connected: number;
  /** Those that run it. */
  applied: number;
  /** Those that rejected it. */
  rejected: number;
}

/** What is known of the harnesses of a project while a version is rolled out. */
export interface RolloutObservations {
  /** Harnesses that rejected it since the rollout began or was resumed. */
  rejected: number;
  own: StageHarnesses;
  /** Whether the stage was the first to offer it to a harness heard from in the last days, connected or not. */
  hasOwn: boolean;
  /** Whether harnesses heard from in the last days are still to be offered it. True while there are none: the first may come. */
  hasOthers: boolean;
  restarts: RateChange;
  /** Of thresholds that the version leaves as they were. */
  crossings: RateChange;
}

export type RolloutDecision =
  /** `leftMs` is what is missing of the stage's time. */
  | { type: "wait"; for: RolloutWait; leftMs: number }
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

/** Whether a harness of the stage can apply the version: only then does the time of the stage count. */
export const isWatched = ({ connected, rejected }: StageHarnesses): boolean => connected > rejected;

/**
 * Milliseconds of a stage in which a server was there, from one look of that server to its next.
 * @param elapsedMs between the looks, by a clock that cannot be set
 * @param mostMs a longer time is that of a server that stood still
 */
export const watchedMs = (elapsedMs: number, mostMs: number): number =>
  Math.round(Math.min(Math.max(0, elapsedMs), mostMs));

/**
 * What a rollout does next.
 * @param stage index in `stagesOf(plan)`
 * @param bakedMs how long harnesses of the stage could have applied the version, while a server was there
 */
export function decideRollout(
  plan: StagedPlan,
  { stage, bakedMs }: { stage: number; bakedMs: number },
  { rejected, own, hasOwn, hasOthers, restarts, crossings }: RolloutObservations,
): RolloutDecision {
  const { rejections, rise } = plan.halt;
  if (rejected >= rejections) return { type: "halt", reason: "rejected" };
  if (rise !== null) {
    if (hasRisen(restarts, rise)) return { type: "halt", reason: "more_restarts" };
    if (hasRisen(crossings, rise)) return { type: "halt", reason: "more_crossings" };
  }
  const last = stagesOf(plan).length - 1;
  // All have it already, as after a person advanced it: nobody is left to try it first.
  if (!hasOwn && !hasOthers) return { type: "advance", to: last, last: true };
  const leftMs = Math.max(0, plan.bake_s * 1_000 - bakedMs);
  if (own.connected === 0) return { type: "wait", for: "harness", leftMs };
  if (!isWatched(own)) return { type: "wait", for: "next_set", leftMs };
  if (leftMs > 0) return { type: "wait", for: "bake", leftMs };
  // Time alone proves nothing, and neither does what earlier stages applied.
  if (own.applied === 0) return { type: "wait", for: "application", leftMs };
  const to = hasOthers ? Math.min(stage + 1, last) : last;
  return { type: "advance", to, last: to === last };
}

/** More than `rise` times as many events as before for as many turns, and not by chance alone. */
function hasRisen({ before, since }: RateChange, rise: number): boolean {
  if (before.turns < FEWEST_TURNS || since.turns < FEWEST_TURNS) return false;
  const expected = (before.events / before.turns) * since.turns;
  return since.events > rise * expected && since.events >= expected + FEWEST_MORE;
}
