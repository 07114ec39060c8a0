import type { PolicySettings } from "@plimsoll/protocol/pure";
import {
  type GuardPolicy,
  type PolicyInput,
  resolvePolicy,
} from "../../../packages/guard/src/policy/policy.ts";
import { policyInputOf } from "../../../packages/guard/src/policy/policy-settings.ts";

/** Responses whose effect a replay must know. */
export const EFFECT_NAMES = ["masked", "compacted", "subtick", "restarted"] as const;
export type EffectName = (typeof EFFECT_NAMES)[number];

/** The level after a response: so many tokens, or a share of the level before it. */
export type LevelLeft = { tokens: number } | { share: number };

/** What each response does to a level. */
export interface ReplayEffects extends Readonly<Record<Exclude<EffectName, "masked">, LevelLeft>> {
  /** Fraction that masking frees of the tokens that were added since the last response. */
  readonly masked: number;
}

/**
 * Effects for a project without a history. Of the guard itself over the synthetic coding session in
 * bench/guard-policy.ts, in windows of 128,000 and 200,000 tokens; of a sub-tick, of the example `phantom`.
 */
export const ASSUMED_EFFECTS = {
  masked: 0.95,
  compacted: { share: 0.25 },
  subtick: { share: 0.15 },
  restarted: { share: 0.2 },
} as const satisfies ReplayEffects;

/** Which responses the harnesses of a family carry out by themselves. */
export type ResponseHabits = Readonly<Record<"masks" | "compacts" | "restarts", boolean>>;

/** A policy as a replay applies it. */
export interface ReplayPolicy {
  guard: GuardPolicy;
  /** Share of the window for one tick of a loop, such as `15%`. */
  tickShare: string | undefined;
}

/**
 * Converts settings to the policy of a replay. A response that the settings do not name is on if the harnesses have the habit.
 * @param habits `undefined` for a family without recorded responses: the guard's own defaults apply
 */
export function replayPolicyOf(settings: PolicySettings, habits: ResponseHabits | undefined): ReplayPolicy {
  const own: PolicyInput = {
    // A recorded level above the window mostly means that the window size is wrong.
    overflow: "send_anyway",
    ...(habits?.masks === false && { mask: null }),
    ...(habits?.compacts === false && { compact: null }),
    ...(habits?.restarts === false && { restart: null }),
  };
  const share = settings.loop?.max_context_pct;
  return {
    guard: resolvePolicy(policyInputOf(settings, own).policy),
    tickShare: share === undefined ? undefined : `${share}%`,
  };
}
