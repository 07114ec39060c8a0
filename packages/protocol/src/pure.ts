/**
 * The part of the protocol that is plain functions and lists: no schemas, no dependencies. A harness that embeds the guard, and a
 * page, carry this and nothing more.
 */
export * from "./alerts/alert-end-text.ts";
export * from "./alerts/alert-presets.ts";
export * from "./alerts/delivery-state.ts";
export * from "./alerts/matcher-text.ts";
export * from "./api/deletion-limit.ts";
export * from "./api/demo-harnesses.ts";
export * from "./api/digest-text.ts";
export * from "./api/key-state.ts";
export * from "./api/project-address.ts";
export { ROLE_OF_SCOPE, ROLES } from "./api/roles.ts";
export * from "./backoff.ts";
export * from "./blocked-ports.ts";
export { LARGEST, LONGEST } from "./events/event-rules.ts";
export type { PlimsollEventInput, TurnContents, Usage } from "./events/events.ts";
export { branchName, repositoryName } from "./events/origin-names.ts";
export * from "./fleet-order.ts";
export * from "./mapping/map-command.ts";
export * from "./mapping/match-text.ts";
export * from "./numbers.ts";
export { canonicalJson } from "./policy/canonical-json.ts";
export type { PolicySettings } from "./policy/policy-schema.ts";
export * from "./policy/policy-versions.ts";
export * from "./policy/presets.ts";
export { replayErrors } from "./policy/replay-errors.ts";
export * from "./policy/resolve-policy.ts";
export * from "./policy/threshold-rules.ts";
export * from "./terms.ts";
export { timeLimit } from "./time-limit.ts";
export * from "./visible-text.ts";
