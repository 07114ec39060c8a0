/**
 * The part of the protocol that is plain functions: no schemas, no dependencies. A harness that embeds the guard
 * carries this and nothing more.
 */

export * from "./alerts/alert-end-text.ts";
export * from "./alerts/alert-presets.ts";
export * from "./alerts/delivery-state.ts";
export * from "./alerts/matcher-text.ts";
export * from "./api/deletion-limit.ts";
export * from "./api/demo-harnesses.ts";
export * from "./api/key-state.ts";
export * from "./api/project-address.ts";
export * from "./backoff.ts";
export { LARGEST, LONGEST } from "./events/event-rules.ts";
export type { PlimsollEventInput, Usage } from "./events/events.ts";
export * from "./history/crossings.ts";
export * from "./history/forecast.ts";
export { type BoundaryType, isBoundary, opensWindow } from "./history/mark.ts";
export { catalogWindow, modelNames, WINDOW_OVERRIDES, windowLookup } from "./history/models.ts";
export { isDifferent, type LineVerdict } from "./history/observed-line.ts";
export * from "./history/threshold-rules.ts";
export * from "./history/usage.ts";
export * from "./history/window.ts";
export * from "./mapping/map-command.ts";
export * from "./mapping/match-text.ts";
export * from "./numbers.ts";
export { canonicalJson } from "./policy/canonical-json.ts";
export * from "./policy/harness-line-text.ts";
export { type LineCause, lineCauseText } from "./policy/line-causes.ts";
export type { PolicySettings } from "./policy/policy-schema.ts";
export { familyOf } from "./policy/resolve-policy.ts";
export * from "./visible-text.ts";
