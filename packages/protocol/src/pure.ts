/**
 * The part of the protocol that is plain functions: no schemas, no dependencies. A harness that embeds the guard
 * carries this and nothing more.
 */
export * from "./crossings.ts";
export type { PlimsollEventInput, Usage } from "./events.ts";
export * from "./forecast.ts";
export { type BoundaryType, isBoundary, opensWindow } from "./mark.ts";
export { modelNames, WINDOW_OVERRIDES, windowLookup } from "./models.ts";
export * from "./threshold-rules.ts";
export * from "./usage.ts";
export * from "./window.ts";
