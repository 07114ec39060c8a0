/** Policies: their schema, rules, presets and resolution, without events. */

export { canonicalJson } from "./policy/canonical-json.ts";
export { familyDefaults } from "./policy/family-defaults.ts";
export { orderedPolicy } from "./policy/ordered-policy.ts";
export { type PolicyMistake, readPolicy } from "./policy/policy-rules.ts";
export { PolicyBody, type PolicyScope, type PolicySettings } from "./policy/policy-schema.ts";
export { POLICY_PRESETS, type PolicyPreset } from "./policy/presets.ts";
export { familyOf, type PolicyOrigin, resolveForHarness } from "./policy/resolve-policy.ts";
export { yamlExcess } from "./policy/yaml-limits.ts";
