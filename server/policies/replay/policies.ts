import { familyDefaults } from "@plimsoll/harnesses/lines";
import { familyOf, type PolicyBody, resolveForHarness } from "@plimsoll/protocol/policy";
import type { MeasuredEffects } from "./effects.ts";
import { type ReplayPolicy, replayPolicyOf } from "./replay-policy.ts";

/** Returns the policy of a harness by model: the same object each time. */
export type PolicyLookup = (harness: string) => (model: string) => ReplayPolicy;

/** Resolves a whole policy for each harness and model once. */
export function policyLookup(body: PolicyBody, effects: MeasuredEffects): PolicyLookup {
  const known = new Map<string, Map<string, ReplayPolicy>>();
  return (harness) => {
    const models = known.get(harness) ?? new Map<string, ReplayPolicy>();
    known.set(harness, models);
    return (model) => {
      let policy = models.get(model);
      if (policy === undefined) {
        const { settings } = resolveForHarness(body, { harness, model }, familyDefaults(harness));
        policy = replayPolicyOf(settings, effects.habitsOf(familyOf(harness)));
        models.set(model, policy);
      }
      return policy;
    };
  };
}
