export { GuardError } from "./error.ts";
export { fit } from "./fit.ts";
export { createGuard, type Guard } from "./guard.ts";
export type { PolicyInput } from "./policy.ts";
export { recallTool } from "./recall-tool.ts";
export type { GuardState } from "./state.ts";
export type { GuardOptions, MaskStore } from "./types.ts";
export type { Message } from "./view/shape.ts";
